package seam

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Column is a door behind what a visitor sends to.
type Column struct {
	Seen []string // the headers that policies see through it
	// which spellings of a path are one: slash, case, params, tail
	Fold []string
	// sends a request from an address and returns the status, or 0 where none came
	Send func(from string, r *Request) int

	mu     sync.Mutex
	trying string // the request under way
	tried  int
	served int
	silent int // without an answer
	faults []Fault
}

// Sum says how the rows ended.
func (c *Column) Sum() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%d sent, %d served, %d without an answer", c.tried, c.served, c.silent)
}

// Fault is a request that was served although a policy denies it in its plain form.
type Fault struct {
	Row    Row
	Base   byte
	Policy string
	Served Served
	sent   Request
}

// Note judges what a site was asked to serve. It may be called at any time and by several at once.
func (c *Column) Note(s Served) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.served++
	if s.Row == "" {
		s.Row = c.trying
	}
	policy := s.wrong(c.Seen, strings.HasPrefix(s.Row, "l"), c.Fold)
	if policy == "" {
		return
	}
	var number int
	f := Fault{Policy: policy, Served: s}
	if _, err := fmt.Sscanf(s.Row, "%c-%d", &f.Base, &number); err == nil {
		f.Row.Name = s.Row
		c.faults = append(c.faults, f)
	}
}

// try sends a row over one of the plain requests, and returns what it sent and its status.
func (c *Column) try(base byte, number int, rows ...Row) (Request, int) {
	r, id := plain(), fmt.Sprintf("%c-%d", base, number)
	bases[base].lay(&r)
	for _, row := range rows {
		row.spell(&r)
	}
	r.Headers = slices.Insert(r.Headers, 0, Header{"X-Row", id})
	c.mu.Lock()
	c.trying = id
	c.tried++
	c.mu.Unlock()
	status := c.Send(bases[base].from, &r)
	if status == 0 {
		c.mu.Lock()
		c.silent++
		c.mu.Unlock()
	}
	return r, status
}

// faultsNow returns the faults that were noted since the last call.
func (c *Column) faultsNow() []Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	faults := c.faults
	c.faults = nil
	return faults
}

// Premise uses up the limit of who is to be at it, and checks that a plain request is served.
func (c *Column) Premise(t testing.TB) {
	t.Helper()
	for range limit {
		c.try('l', 0)
	}
	before := c.count()
	for tries := 0; c.count() == before && tries < 10; tries++ {
		c.try('f', 0)
	}
	if c.count() == before {
		t.Error("a plain request is not served")
	}
	c.faultsNow()
}

// count returns how many requests were served.
func (c *Column) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.served
}

// Try sends all rows and returns the faults: each was served twice, for a machine that is busy may
// have a proxy open once.
func (c *Column) Try(rows []Row) (faults []Fault) {
	for number, row := range rows {
		for _, base := range []byte(row.Bases) {
			c.try(base, number, row)
		}
	}
	return c.again(c.faultsNow(), func(number int) []Row { return rows[number : number+1] })
}

// Fuzz sends n requests that each have two to four odd things about them, chosen by seed, and
// returns the faults.
func (c *Column) Fuzz(rows []Row, n int, seed uint64) (faults []Fault) {
	chosen := func(number int) (some []Row) {
		//nolint:gosec // which spellings are tried
		chance := rand.New(rand.NewPCG(seed, uint64(number)))
		for range 2 + chance.IntN(3) {
			some = append(some, rows[chance.IntN(len(rows))])
		}
		return some
	}
	const letters = "lllfphtqc"
	for number := range n {
		c.try(letters[number%len(letters)], number, chosen(number)...)
	}
	return c.again(c.faultsNow(), chosen)
}

// again sends what was at fault once more, and returns what is again.
func (c *Column) again(first []Fault, rowsOf func(number int) []Row) (faults []Fault) {
	tried := map[string]bool{}
	for _, f := range first {
		var number int
		if _, err := fmt.Sscanf(f.Row.Name, "%c-%d", &f.Base, &number); err != nil ||
			tried[f.Row.Name] {
			continue
		}
		tried[f.Row.Name] = true
		rows := rowsOf(number)
		sent, _ := c.try(f.Base, number, rows...)
		for _, f := range c.faultsNow() {
			f.Row, f.sent = rows[0], sent
			for _, row := range rows[1:] {
				f.Row.Kind, f.Row.Name = "several", f.Row.Name+" + "+row.Name
			}
			faults = append(faults, f)
		}
	}
	return faults
}

// Tell returns faults as a table: so many of each kind.
func Tell(faults []Fault, most int) string {
	var b strings.Builder
	seen := map[string]int{}
	for _, f := range faults {
		kind := f.Row.Kind + " | " + string(f.Base) + " | " + f.Policy
		seen[kind]++
	}
	told := map[string]int{}
	for _, f := range faults {
		kind := f.Row.Kind + " | " + string(f.Base) + " | " + f.Policy
		if told[kind]++; told[kind] > most {
			continue
		}
		fmt.Fprintf(&b, "%s (%d of these)\n  row  %s\n  sent %q\n  site %s\n", kind, seen[kind],
			f.Row.Name, short(f.sent.Bytes()), &f.Served)
	}
	return b.String()
}
