//go:build !linux

package sampler_test

func peak() string { return "unknown" }
