package sampler

import (
	"errors"
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/drawfile"
)

// openDraws opens the file of Config.DrawsFile for a Run.
func (c *Runner[S]) openDraws() error {
	if c.cfg.DrawsFile == "" {
		return nil
	}
	if err := c.drawsTo(); err != nil {
		return fmt.Errorf("%s: Config.DrawsFile: %s: %w", c.system.Name(), c.cfg.DrawsFile, err)
	}
	return nil
}

func (c *Runner[S]) drawsTo() error {
	w := c.draws
	if w == nil {
		settings := c.settings()
		settings.Add("Config.Seed", c.streams[0].seed)
		head := drawfile.Head{Kind: drawfile.Tokens, Sites: c.sites, First: c.cfg.First, Count: c.cfg.Count, Block: c.size, Settings: settings}
		if t, ok := any(c.system).(*tokens); ok {
			head.Levels = t.levels
		}
		if _, ok := any(c.x).([]float32); ok {
			head.Kind = drawfile.Reals
		}
		w = drawfile.NewWriter(c.cfg.DrawsFile, head)
	}
	if err := w.Open(); err != nil {
		return err
	}
	for i := range c.blocks {
		b := &c.blocks[i]
		made := (b.steps - c.cfg.Warmup) / c.cfg.Thin
		if b.missed && w.Have(i) < made {
			if err := w.Skip(i, made); err != nil {
				return errors.Join(err, w.Close())
			}
		}
		if b.missed = false; w.Have(i) < made {
			_ = w.Close()
			return fmt.Errorf("the file has %d draws of chain %d, which has made %d: want a checkpoint that is no newer than the file", w.Have(i), c.cfg.First+b.first, made)
		}
	}
	c.draws = w
	return nil
}

// closeDraws flushes the draws of a Run to disk and closes the file.
func (c *Runner[S]) closeDraws() error {
	if c.draws == nil {
		return nil
	}
	return c.named(c.draws.Close())
}

// syncDraws flushes the draws of a Run so far to disk, during the Run.
func (c *Runner[S]) syncDraws() error {
	if c.draws == nil {
		return nil
	}
	return c.named(c.draws.Sync())
}

// drawsFailed returns the error of writing a draw, if any.
func (c *Runner[S]) drawsFailed() error {
	if c.draws == nil {
		return nil
	}
	return c.named(c.draws.Err())
}

func (c *Runner[S]) named(err error) error {
	if err != nil {
		err = fmt.Errorf("%s: Config.DrawsFile: %w", c.system.Name(), err)
	}
	return err
}

// page returns the page on which the draws of a block are written, or nil if draws are not written.
func (c *Runner[S]) page(b *block[S]) *drawfile.Page {
	if c.draws == nil {
		return nil
	}
	p, ok := c.pages.Get().(*drawfile.Page)
	if !ok {
		p = &drawfile.Page{}
	}
	p.Begin(b.first / c.size)
	return p
}

// note writes a draw of a block on a page.
func (c *Runner[S]) note(page *drawfile.Page, draw int, p place[S]) {
	drawfile.States(c.draws, page, draw, p.x)
	for i := range p.info {
		in := &p.info[i]
		page.Info(in.Energy, in.Accept, in.Moved, in.Invalid)
	}
	if page.Full() {
		c.draws.Append(page)
	}
}

// file puts a page into the file.
func (c *Runner[S]) file(page *drawfile.Page) {
	if page != nil {
		c.draws.Append(page)
		c.pages.Put(page)
	}
}
