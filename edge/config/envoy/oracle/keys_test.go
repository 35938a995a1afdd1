package oracle

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/config/envoy"
	"github.com/headgate-dev/headgate/edge/rls"
)

// listed returns the keys in keys.txt.
func listed(t *testing.T) (keys []string) {
	t.Helper()
	text, err := os.ReadFile("keys.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			keys = append(keys, line)
		}
	}
	return keys
}

// pinned returns the keys of the map validKeys in the source of the pinned module.
func pinned(t *testing.T) (keys []string) {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/envoyproxy/ratelimit").Output()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(strings.TrimSpace(string(dir)), "src/config/config_impl.go")
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || v.Names[0].Name != "validKeys" {
			return true
		}
		for _, e := range v.Values[0].(*ast.CompositeLit).Elts {
			key, err := strconv.Unquote(e.(*ast.KeyValueExpr).Key.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, key)
		}
		return false
	})
	return keys
}

// TestValidKeys: each key that they take is known here, and no other.
func TestValidKeys(t *testing.T) {
	theirs, ours := slices.Concat(listed(t), pinned(t)), envoy.Keys()
	if len(theirs) < 30 {
		t.Fatalf("only %d keys of theirs: %q", len(theirs), theirs)
	}
	for _, key := range theirs {
		if !slices.Contains(ours, key) {
			t.Errorf("the key %s is not known here", key)
		}
	}
	for _, key := range ours {
		if !slices.Contains(theirs, key) {
			t.Errorf("the key %s is known here, and not there", key)
		}
	}
}

// row is one descriptor of the second reading.
type row struct {
	key, value string
	share      bool
	per        int
	below      []row
}

// text writes rows as YAML.
func text(b *strings.Builder, indent string, rows []row) {
	for _, r := range rows {
		fmt.Fprintf(b, "%s- key: %q\n", indent, r.key)
		if r.value != "" {
			fmt.Fprintf(b, "%s  value: %q\n", indent, r.value)
		}
		if r.share {
			fmt.Fprintf(b, "%s  share_threshold: true\n", indent)
		}
		if r.per > 0 {
			fmt.Fprintf(b, "%s  metadata: {of: {n: %d}}\n%s  rate_limit: {unit: hour, "+
				"requests_per_unit: %d}\n", indent, r.per, indent, r.per)
		}
		if len(r.below) > 0 {
			fmt.Fprintf(b, "%s  descriptors:\n", indent)
			text(b, indent+"  ", r.below)
		}
	}
}

// full is the name of r among its siblings.
func (r *row) full() string {
	if r.value == "" {
		return r.key
	}
	return r.key + "_" + r.value
}

// read is the second reading, without tables: the limit of a descriptor, 0 for none, and the values
// it is counted by.
func read(rows []row, entries [][2]string) (per int, by string) {
	for i, e := range entries {
		asked := e[0] + "_" + e[1]
		at := slices.IndexFunc(rows, func(r row) bool { return r.full() == asked })
		if value := e[1]; at < 0 {
			at = slices.IndexFunc(rows, func(r row) bool {
				pattern := strings.ReplaceAll(regexp.QuoteMeta(r.full()), `\*`, "(?s:.*)")
				return strings.Contains(r.full(), "*") &&
					regexp.MustCompile("^(?:"+pattern+")$").MatchString(asked)
			})
			if at >= 0 && rows[at].share {
				value = strings.TrimPrefix(rows[at].full(), e[0]+"_")
			}
			by += " " + value
		} else {
			by += " " + value
		}
		if at < 0 {
			at = slices.IndexFunc(rows, func(r row) bool { return r.full() == e[0] })
		}
		if at < 0 {
			return 0, ""
		}
		if i == len(entries)-1 {
			return rows[at].per, by
		}
		rows = rows[at].below
	}
	return 0, ""
}

// rows makes descriptors of the shapes of 2026.
func (m maker) rows(depth int) (rows []row) {
	known := map[string]bool{}
	for range 1 + m.IntN(6) {
		r := row{
			key:   m.pick("p", "q", "p*"),
			value: m.pick("", "a", "/x/*/y", "*b", "a*a", "aba*aba", "**", "a*b*c", "*a*b*"),
			per:   m.IntN(4) * (1 + m.IntN(900)),
		}
		if known[r.full()] {
			continue
		}
		known[r.full()] = true
		if r.share = strings.Contains(r.full(), "*") &&
			m.IntN(3) == 0; depth > 0 && m.IntN(2) == 0 {
			r.below = m.rows(depth - 1)
		}
		rows = append(rows, r)
	}
	return rows
}

// TestSecondReading: of files of 2026 shapes, 6,000 requests mean the same limit and are counted by
// the same values as the second reading says.
func TestSecondReading(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(26, 11))}
	limits := 0
	for range 300 {
		rows := m.rows(2)
		var b strings.Builder
		b.WriteString("domain: d\ndescriptors:\n")
		text(&b, "  ", rows)
		tree, err := ours(b.String())
		if err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		for range 20 {
			var entries [][2]string
			for range 1 + m.IntN(3) {
				entries = append(entries, [2]string{
					m.pick("p", "q", "pq"),
					m.pick("", "a", "b", "aa", "aba", "ababa", "abaaba", "/x/1/y", "/x//y", "/x/y",
						"abc", "axbxc", "xaxbx", "c"),
				})
			}
			per, by := read(rows, entries)
			gotPer, gotBy := walked(tree, entries)
			if per != gotPer || per > 0 && by != gotBy {
				t.Fatalf("%q: the second reading says %d by%s, we say %d by%s\n%s", entries, per,
					by, gotPer, gotBy, b.String())
			}
			if per > 0 {
				limits++
			}
		}
	}
	if t.Logf("%d of 6000 requests had a limit", limits); limits < 500 {
		t.Error("that is too few to mean something")
	}
}

// walked is read by the tree.
func walked(tree *rls.Tree, entries [][2]string) (per int, by string) {
	var w rls.Walk
	w.Begin(tree.Domain([]byte("d")))
	for i, e := range entries {
		by += " " + string(w.Step([]byte(e[0]), []byte(e[1]), i == len(entries)-1))
	}
	if w.Limit == nil {
		return 0, by
	}
	return int(w.Limit.PerUnit), by
}
