package edge

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/policy"
)

// setWatch is the look at the files of sets with `watch`. A file is read when its time or its size
// has changed, and is the same at the next look: until then somebody may be writing it.
type setWatch struct {
	files map[string]watchedFile // by set

	mu     sync.Mutex        // protects faults
	faults map[string]string // by set: why its file as it is now was not taken
}

// watchedFile is the file of a set as seen.
type watchedFile struct {
	taken, seen stamp
	next        time.Time // when it is looked at again
}

// stamp is the time and the size of a file.
type stamp struct {
	changed time.Time
	size    int64
}

// watchSets reads the watched files that change, until ctx ends.
func (n *Node) watchSets(ctx context.Context) { gate.Every(ctx, time.Second, n.lookAtSets) }

// stampOf returns the stamp of a file; the zero stamp: there is none.
func stampOf(path string) (is stamp) {
	if info, err := os.Stat(path); err == nil {
		is = stamp{info.ModTime(), info.Size()}
	}
	return is
}

// lookAtSets looks at the files that are due at now.
func (n *Node) lookAtSets(now time.Time) {
	n.reloads.mu.Lock()
	all := n.reloads.file.cfg.Policies.Sets
	n.reloads.mu.Unlock()
	w, files := &n.sets, map[string]watchedFile{}
	for i := range all {
		s := &all[i]
		f := w.files[s.Name]
		if s.Watch == 0 {
			continue
		}
		if !now.Before(f.next) {
			is := stampOf(s.File) // where there is no file it is read, for the fault
			if is == f.seen && is != f.taken && n.reread(s) {
				f.taken = is
			}
			f.seen, f.next = is, now.Add(s.Watch)
		}
		files[s.Name] = f
	}
	w.files = files
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.faults, func(name, _ string) bool {
		_, watched := files[name]
		return !watched
	})
}

// reread puts the file of s in force, and the rest as it is, switches too. False: it is at fault,
// or a reload has come between, and the next look tries again.
func (n *Node) reread(s *policy.Set) bool {
	number := n.begun.Add(1)
	n.reloads.mu.Lock()
	p := n.reloads.file
	n.reloads.mu.Unlock()
	before := p.policies
	if before == nil { // nobody asks for the sets
		return true
	}
	next, err := config.ReloadPolicies(&p.cfg,
		policy.Options{Key: p.digestKey(n.secret), Before: before, Only: s.Name, Now: wall()})
	n.sets.note(n, s, err)
	if err != nil {
		return false
	}
	n.reloads.mu.Lock()
	defer n.reloads.mu.Unlock()
	if number < n.reloads.newest || n.reloads.file.policies != before {
		return false
	}
	n.reloads.newest, n.reloads.file.policies = number, next
	if err := n.put(n.reloads.switches); err != nil {
		return false
	}
	for _, c := range next.Changed(before) {
		n.log.Info("the file of a set was read again", "set", c.Name, "before", c.Before, "after",
			c.After)
	}
	return true
}

// note notes whether the file of s is at fault, and logs a fault that is new.
func (w *setWatch) note(n *Node, s *policy.Set, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		delete(w.faults, s.Name)
		return
	}
	text, _, _ := strings.Cut(config.FaultsOfSets(s.Name, err)[0].Message, "; --force")
	if !strings.HasPrefix(text, "set ") {
		text = "set " + s.Name + ": " + text
	}
	if text += ": the old ones stay"; w.faults[s.Name] != text {
		n.log.Warn("a set's file was rejected", "set", s.Name, "fault", text)
	}
	if w.faults == nil {
		w.faults = map[string]string{}
	}
	w.faults[s.Name] = text
}

// Faults returns the files that are at fault, by name.
func (w *setWatch) Faults() (all []api.FaultView) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(w.faults)) {
		all = append(all, api.FaultView{Code: "set-shrunk", Text: w.faults[name]})
	}
	return all
}
