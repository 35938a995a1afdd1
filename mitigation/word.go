package mitigation

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Says is what an operator's word says of a key.
type Says uint8

// What a word may say. The numbers are on the wire.
const (
	SaysLift  Says = 1 // take back whatever stands
	SaysAllow Says = 2 // never refuse
	SaysBlock Says = 3 // refuse everything
)

// Bounds of a word's fields, the same for the one who gives it and for every node that hears it.
const (
	MinWordTTL = time.Second
	MaxWordTTL = 30 * 24 * time.Hour
	MaxNode    = 253             // bytes of a node's name
	MaxWho     = 64              // bytes
	MaxReason  = 256             // bytes
	MaxEarly   = 2 * time.Minute // how far in the future, by this node's clock, a word may have been given
)

// Why a word is not taken.
var (
	ErrWordBad   = errors.New("mitigation: not a word")
	ErrWordEarly = errors.New("mitigation: a word from the future")
	ErrWordOver  = errors.New("mitigation: a word that is over")
	ErrWordRoom  = errors.New("mitigation: no room for a word that ends so soon")
)

// Word is what an operator said of one key of one rule, as it travels: it never changes on its way but for
// Keep, which only grows. Times are Unix milliseconds by the clock of the node that was told.
type Word struct {
	Rule   string // [A-Za-z0-9_.-]{1,64}; the node that hears it need not have it
	Key    []byte // 1..MaxKey bytes
	Says   Says
	Issued int64 // above 0
	Until  int64 // Issued + MinWordTTL..MaxWordTTL; of a lift: Issued
	Keep   int64 // Until..Issued + MaxWordTTL: when nothing that it took the place of can come back any more
	Node   string
	Who    string
	Reason string
}

// Action returns the action of the flag that w sets; it is for words that do not lift.
func (w *Word) Action() Action {
	if w.Says == SaysAllow {
		return Allow
	}
	return Block
}

// InForce reports whether w sets a flag at now, Unix milliseconds.
func (w *Word) InForce(now int64) bool { return w.Says != SaysLift && w.Until > now }

// Compare orders two words of one key over all that they say: of two the greater stands, on every node
// alike. The newer is greater; between two of one millisecond the other fields decide, which of them wins
// then matters to nobody as long as it is the same everywhere.
func (w *Word) Compare(v *Word) int {
	return cmp.Or(
		cmp.Compare(w.Issued, v.Issued), strings.Compare(w.Node, v.Node), cmp.Compare(w.Says, v.Says),
		cmp.Compare(w.Until, v.Until), strings.Compare(w.Who, v.Who), strings.Compare(w.Reason, v.Reason),
	)
}

// check returns what is wrong with w's fields, whatever the time; the error is an ErrWordBad.
func (w *Word) check() error {
	longest := w.Issued + MaxWordTTL.Milliseconds()
	switch {
	case !ruleName(w.Rule):
		return bad("rule")
	case len(w.Key) < 1 || len(w.Key) > MaxKey:
		return bad("key")
	case w.Says < SaysLift || w.Says > SaysBlock:
		return bad("action")
	case w.Issued <= 0 || longest < 0:
		return bad("time of issue")
	case w.Says == SaysLift && w.Until != w.Issued,
		w.Says != SaysLift && w.Until < w.Issued+MinWordTTL.Milliseconds(), w.Until > longest:
		return bad("end")
	case w.Keep < w.Until || w.Keep > longest:
		return bad("time to keep")
	}
	return w.checkText()
}

func (w *Word) checkText() error {
	switch {
	case w.Node == "" || !printable(w.Node, MaxNode):
		return bad("node")
	case !printable(w.Who, MaxWho):
		return bad("who")
	case !printable(w.Reason, MaxReason):
		return bad("reason")
	}
	return nil
}

func bad(field string) error { return fmt.Errorf("%w: its %s is out of bounds", ErrWordBad, field) }

// printable reports whether text is no longer than most bytes, all of characters that hide nothing from those who read it.
func printable(text string, most int) bool {
	return len(text) <= most && utf8.ValidString(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// ruleName reports whether name is one that a rule may have.
func ruleName(name string) bool {
	return name != "" && len(name) <= MaxRuleName && !strings.ContainsFunc(name, func(r rune) bool {
		letter := r|0x20 >= 'a' && r|0x20 <= 'z'
		return !letter && (r < '0' || r > '9') && !strings.ContainsRune("_.-", r)
	})
}
