package policy

import (
	"io"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/policy/condition"
)

// Engines share the set of a file for as long as the file says the same.
func TestSetsAreShared(t *testing.T) {
	text := "192.0.2.0/24\n198.51.100.0/24\n"
	open := func(string) (io.ReadCloser,
		error,
	) {
		return io.NopCloser(strings.NewReader(text)), nil
	}
	load := func(before *Engine, kind SetKind) *Engine {
		t.Helper()
		e, err := Load(&Spec{Sets: []Set{{Name: "s", Kind: kind, File: "f"}}},
			Options{Open: open, Before: before})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	first := load(nil, CIDRFile)
	same := load(first, CIDRFile)
	if same.files["s"].set != first.files["s"].set || same.Bytes() != first.Bytes() {
		t.Error("an unchanged file made another set")
	}
	text = "192.0.2.0/24\n"
	if other := load(same, CIDRFile); other.files["s"].set == first.files["s"].set ||
		other.Bytes() != 12 {
		t.Errorf("a changed file: %d bytes", other.Bytes())
	}
	text = "a,gold\n"
	table := load(first, TableFile)
	if again := load(table, TableFile); again.files["s"].set != table.files["s"].set {
		t.Error("an unchanged table made another set")
	}
	// A policy that has no number for the word is a fault, whether or not the file is read again.
	api := limit("api", nil)
	api.Tiers = &Tiers{
		Of: condition.Field{Kind: condition.Header, Name: "x"}, Table: "s",
		Default: "free", Names: []string{"free"},
	}
	_, err := Load(&Spec{
		Sets:     []Set{{Name: "s", Kind: TableFile, File: "f"}},
		Policies: []Policy{api},
	}, Options{Open: open, Before: table})
	if err == nil ||
		err.Error() != `f:1: tier "gold" has no number in a policy that uses the table` {
		t.Errorf("got %v", err)
	}
}
