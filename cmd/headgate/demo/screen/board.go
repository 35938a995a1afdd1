// Package screen shows `headgate demo`: drawn on a terminal (Live), or in lines of name=value pairs
// (Lines), and the result. From plain values, without computation.
//
//	Opening, phases, Change, Board ─► Live:  Page ─► cli.Frame ─► the terminal
//	                                     └► Lines: one line each
//	story.Summary ─► Live.Summary, Lines.Summary
package screen

import (
	"strings"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/demo/story"
	"github.com/headgate-dev/headgate/edge/api"
)

// Opening describes a demo before the story begins.
type Opening struct {
	Seed            uint64
	Duration, Round time.Duration // Duration 0: until it is stopped
	Clients         int           // number of normal clients
	Attacker        string        // its key
	PoPs            []PoP
}

// PoP is where a PoP can be reached, and the ring.
type PoP struct {
	Name, City, Node string
	UDP, HTTP, Admin string // host:port
	Dashboard, Ring  string // for people
}

// Change is a mitigation set, changed or cleared.
type Change struct {
	At         time.Duration // since the story began
	Kind       string        // "set", "changed" or "cleared"
	PoP        int
	Mitigation api.MitigationView // for "cleared" the last
}

// Board is the state of a demo at a time.
type Board struct {
	At       time.Duration // since the story began
	Phase    int           // in story.Phases
	Rows     [len(story.PoPs)]Row
	Whole    Row       // all PoPs
	Share    float64   // of the limit the attacker was admitted in the last second
	First    int       // the second, since the story began, that Admitted and Offered begin with
	Admitted []float64 // of the attacker in each whole second, in limits
	Offered  []float64 // by the attacker, likewise
}

// Row is a PoP's last second.
type Row struct {
	Attack, Normal story.Tally
	Denied         int     // of all requests of normal clients so far
	Action, Source string  // of the mitigation of the attacker; "": there is none
	Ratio          float64 // its share of requests to be denied, 0 to 1
}

// sourceText describes the source of a mitigation in a sentence.
func sourceText(source string) string {
	kind, of, _ := strings.Cut(source, ":")
	switch kind {
	case "self":
		return "its own count"
	case "ring":
		return "its ring's total"
	case "gossip":
		return "total of all PoPs, from " + cli.Safe(of)
	case "manual":
		return "operator " + cli.Safe(of)
	}
	return cli.Safe(source)
}

// sourceName is sourceText for a column of a table.
func sourceName(source string) string {
	kind, of, _ := strings.Cut(source, ":")
	switch kind {
	case "self":
		return "own count"
	case "ring":
		return "own ring"
	case "gossip":
		return "all PoPs, by " + of
	case "manual":
		return of
	}
	return source
}
