package main

import (
	"context"
	"errors"
	"sync"
)

// group runs functions side by side: the first that fails stops everything, and wait waits for all.
type group struct {
	stop context.CancelCauseFunc
	wg   sync.WaitGroup
	mu   sync.Mutex
	errs []error
}

func newGroup(stop context.CancelCauseFunc) *group { return &group{stop: stop} }

func (g *group) start(f func() error) {
	g.wg.Go(func() {
		err := f()
		if err == nil {
			return
		}
		g.mu.Lock()
		g.errs = append(g.errs, err)
		g.mu.Unlock()
		g.stop(err)
	})
}

func (g *group) wait() error {
	g.wg.Wait()
	return errors.Join(g.errs...)
}
