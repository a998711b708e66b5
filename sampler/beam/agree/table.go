package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/gibbsite-go/gibbsite"
)

// program is this command, with one choice of kernels.
type program struct {
	path, simd string
	spent      time.Duration // CPU time of the last call, user and system
}

// table calls this program in every way and prints what it says.
func table(ctx context.Context) error {
	tmp, err := os.MkdirTemp("", "agree")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	path, err := os.Executable()
	if err != nil {
		return err
	}
	best, plain := &program{path: path, simd: gibbsite.SIMD()}, &program{path: path, simd: "purego"}
	if *cost {
		return costs(ctx, best)
	}
	stop, address, err := serve(ctx, path)
	if err != nil {
		return err
	}
	defer stop()

	digests := map[string]bool{}
	fmt.Printf("%-16s %-8s %6s  %s\n", "engine", "kernels", "parts", "digest")
	for _, p := range []*program{best, plain} {
		for _, parts := range []int{1, 7, 100} {
			for _, engine := range []string{"goroutines", "processes", "prism", "prism server"} {
				digest, err := p.digest(ctx, engine, parts, tmp, address)
				if err != nil {
					return fmt.Errorf("%s, %s, %d parts: %w", engine, p.simd, parts, err)
				}
				digests[digest] = true
				fmt.Printf("%-16s %-8s %6d  %s\n", engine, p.simd, parts, digest)
			}
		}
	}
	if len(digests) != 1 {
		return fmt.Errorf("%d different digests", len(digests))
	}
	fmt.Println("all equal")
	return nil
}

// call runs the program and returns what it printed last.
func (p *program) call(ctx context.Context, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, p.path, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Env = append(cmd.Env, "GIBBSITE_SIMD="+p.simd)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", exitCode(err, errs.Bytes())
	}
	p.spent = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	return lines[len(lines)-1], nil
}

func (p *program) digest(ctx context.Context, engine string, parts int, tmp, address string) (string, error) {
	n := "-parts=" + strconv.Itoa(parts)
	switch engine {
	case "prism server":
		return p.call(ctx, nil, "-engine=prism", n, "--runner=universal", "--endpoint="+address, "--environment_type=LOOPBACK")
	case "processes":
		dir, err := os.MkdirTemp(tmp, "tasks")
		if err != nil {
			return "", err
		}
		for i := range parts {
			if _, err := p.call(ctx, []string{"JOB_COMPLETION_INDEX=" + strconv.Itoa(i)}, "-engine=task", n, "-dir="+dir); err != nil {
				return "", err
			}
		}
		return p.call(ctx, nil, "-engine=merge", "-dir="+dir)
	}
	return p.call(ctx, nil, "-engine="+engine, n)
}

// serve starts a prism server and waits until it answers.
func serve(ctx context.Context, path string) (stop func(), address string, err error) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return nil, "", err
	}
	address = l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, "", err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, "", err
	}
	cmd := exec.CommandContext(ctx, path, "-engine=serve", "-port="+port)
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	for range 100 {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			return stop, address, c.Close()
		}
		time.Sleep(100 * time.Millisecond)
	}
	stop()
	return nil, "", fmt.Errorf("the prism server does not answer at %s", address)
}

// costs prints the CPU time of 50 parts in goroutines and on prism, the least of
// several runs in turns: on a busy machine noise only adds.
func costs(ctx context.Context, p *program) error {
	const runs, count = 7, 50
	job := []string{"-parts=" + strconv.Itoa(count), "-draws=1000", "-warmup=50"}
	least := map[string]time.Duration{}
	for range runs {
		for _, engine := range []string{"goroutines", "prism"} {
			if _, err := p.call(ctx, nil, append([]string{"-engine=" + engine}, job...)...); err != nil {
				return err
			}
			if least[engine] == 0 || p.spent < least[engine] {
				least[engine] = p.spent
			}
		}
	}
	g, b := least["goroutines"], least["prism"]
	fmt.Printf("%d parts of %v: %v of CPU in goroutines, %v on prism: %+.1f %%\n",
		count, (g / count).Round(time.Millisecond), g.Round(time.Millisecond), b.Round(time.Millisecond), 100*(float64(b)/float64(g)-1))
	return nil
}
