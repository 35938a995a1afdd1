package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/headgate-dev/headgate/window"
)

const (
	// by then all pages of the tables have been touched
	keysFirst = 1_000_000 // distinct keys after which the size is taken first
	keysRate  = 100_000   // a second of the traffic's time
)

// distinct is the result of the keys mode.
type distinct struct {
	Memory        int64        `json:"memory"`
	Keys          int64        `json:"keys"`
	ResidentFirst int64        `json:"resident_first_bytes"` // after keysFirst
	ResidentLast  int64        `json:"resident_last_bytes"`
	NanosEach     float64      `json:"ns_a_decision"`
	Node          window.Stats `json:"node"`
}

// runKeys asks once for each of o.n distinct keys and takes the resident size after keysFirst and
// at the end. Memory that grew with the number of keys would show: the bound is mayGrow. Random
// keys, so that they spread over the sketch as addresses would; a number behind makes each one new.
func runKeys(o options) (result, error) {
	n, err := newNode(o.memory, ruleLimit, trafficStart)
	if err != nil {
		return nil, err
	}
	d := &distinct{Memory: o.memory, Keys: o.n}
	dice := newDice(o.seed, 4)
	began := time.Now()
	now := trafficStart
	key := make([]byte, 16) // as an IPv6 address; one for all, for the node keeps none of it
	for i := range o.n {
		binary.BigEndian.PutUint64(key, dice.Uint64())
		binary.BigEndian.PutUint64(key[8:], uint64(i)) // makes it distinct
		now = trafficStart.Add(time.Duration(i) * (time.Second / keysRate))
		n.refuses(now, dice.Uint64(), key)
		n.sweep(now)
		if i+1 == keysFirst {
			d.ResidentFirst = resident()
		}
	}
	d.ResidentLast = resident()
	d.NanosEach = float64(time.Since(began).Nanoseconds()) / float64(o.n)
	d.Node = n.edge.Stats(now)
	return d, nil
}

// growth returns the last size as a multiple of the first.
// It is of the process: memory that Go's heap keeps back counts as well, since an operator pays for
// that too.
func (d *distinct) growth() float64 {
	return float64(d.ResidentLast) / float64(max(d.ResidentFirst, 1))
}

func (d *distinct) passed() bool { return d.growth() <= mayGrow }

func (d *distinct) print(w io.Writer) {
	fmt.Fprintf(w, "keys: %d distinct, %d/s, limit %d per %v, memory %d MiB; %.1f ns a decision\n",
		d.Keys, keysRate, ruleLimit, ruleWindow, d.Memory/mib, d.NanosEach)
	printNode(w, &d.Node)
	fmt.Fprintf(w, "resident    %.1f MiB after %d keys, %.1f MiB after %d\n",
		float64(d.ResidentFirst)/mib, keysFirst, float64(d.ResidentLast)/mib, d.Keys)
	fmt.Fprintf(w, "%s  grown to %.3f of that, at most %.2f\n", verdict(d.passed()),
		d.growth(), mayGrow)
}
