//go:build !linux

package door

import "runtime"

// Yielder lets goroutines run the runtime knows to be ready.
type Yielder struct{}

// NewYielder returns a Yielder.
func NewYielder() (*Yielder, error) { return new(Yielder), nil }

// Yield returns when the goroutines that were ready have had a processor.
func (*Yielder) Yield() error { runtime.Gosched(); return nil }

// GiveWay is Yield.
func (y *Yielder) GiveWay() error { return y.Yield() }

// Close does nothing.
func (*Yielder) Close() error { return nil }
