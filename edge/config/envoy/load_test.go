package envoy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/config/envoy"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/rls"
	"github.com/headgate-dev/headgate/mitigation"
)

const good = `
domain: shop
descriptors:
  - key: path
    value: /login
    rate_limit: {unit: minute, requests_per_unit: 5, name: login}
  - key: path
    value: "/a*"
    share_threshold: true
    rate_limit: {unit: SECOND, requests_per_unit: 7}
  - key: path
    value: "/ab*"
    rate_limit: {unit: second, requests_per_unit: 8}
  - key: path
    rate_limit: {unit: hour, requests_per_unit: 9}
    descriptors:
      - key: user
        shadow_mode: true
        rate_limit: {unit: day, requests_per_unit: 10}
      - key: user
        value: root
        rate_limit: {unlimited: true, replaces: [{name: login}]}
  - {key: banned, rate_limit: {unit: minute}}
  - {key: q, quota_mode: on, rate_limit: {unit: minute, requests_per_unit: 1_000}}
`

// load returns the tree of one file, and its faults in words.
func load(text string, o envoy.Options) (*rls.Tree, string) {
	tree, faults := envoy.Load([]envoy.File{{Name: "f.yaml", Data: []byte(text)}}, o)
	words := ""
	for _, f := range faults {
		words += fmt.Sprintf("%s:%d:%d: %s\n", f.File, f.Line, f.Col, f.Message)
	}
	return tree, words
}

// TestFind: exactly, then by the first wildcard, then by the key; at full depth only.
func TestFind(t *testing.T) {
	t.Parallel()
	tree, faults := load(good, envoy.Options{Scope: mitigation.PoP})
	if faults != "" {
		t.Fatal(faults)
	}
	for descriptor, want := range doortest.Script(`
		path=/login → shop.path__login-e2f6a21c 5/2 login counts by /login
		path=/about → shop.path__a_-5c7d6a05 7/1 counts by /a*
		path=/abc → shop.path__a_-5c7d6a05 7/1 counts by /a*
		path=/x → shop.path 9/3 counts by /x
		path=/x user=anna → shop.path.user 10/4 shadow counts by /x anna
		path=/x user=root → unlimited
		path=/login user=anna → none
		path=/x user=anna more=1 → none
		path=/x other=1 → none
		user=anna → none
		banned=x → banned
		q=x → shop.q 1000/2 quota counts by x
	`) {
		if got := find(tree, "shop", descriptor); !strings.HasPrefix(withoutDigest(got),
			withoutDigest(want)) {
			t.Errorf("%s: %s, want %s", descriptor, got, want)
		}
	}
	if tree.Domain([]byte("other")) != nil || len(tree.Rules) != 6 ||
		tree.Rules[0].Scope != mitigation.PoP || tree.Rules[4].Mode != mitigation.Shadow ||
		tree.Rules[5].Mode != mitigation.Enforce {
		t.Errorf("%+v", tree.Rules)
	}
	var none *rls.Tree
	if none.Domain([]byte("shop")) != nil {
		t.Error("no tree has a domain")
	}
}

// withoutDigest leaves out the digest in a rule's name.
func withoutDigest(words string) string {
	name, rest, _ := strings.Cut(words, " ")
	if at := strings.LastIndexByte(name, '-'); at >= 0 {
		name = name[:at]
	}
	return name + " " + rest
}

// find says what tree has for a descriptor.
func find(tree *rls.Tree, domain, descriptor string) string {
	var w rls.Walk
	w.Begin(tree.Domain([]byte(domain)))
	by := ""
	entries := strings.Fields(descriptor)
	for i, e := range entries {
		key, value, _ := strings.Cut(e, "=")
		by += " " + string(w.Step([]byte(key), []byte(value), i == len(entries)-1))
	}
	l := w.Limit
	switch {
	case l == nil:
		return "none"
	case l.Unlimited:
		return "unlimited"
	case l.Banned():
		return "banned"
	}
	words := fmt.Sprintf("%s %d/%d", l.Rule, l.PerUnit, l.Unit)
	if l.Name != "" {
		words += " " + l.Name
	}
	if l.Shadow {
		words += " shadow"
	}
	if l.Quota {
		words += " quota"
	}
	return words + " counts by" + by
}

// TestLoader: what the loader of envoyproxy/ratelimit takes in a way of its own.
func TestLoader(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"later documents": "domain: d\ndescriptors: [{key: k, rate_limit: {unit: minute, " +
			"requests_per_unit: 3}}]\n---\nnonsense: 1\n",
		"repeated keys": "domain: c\ndomain: d\ndescriptors: [{key: k, rate_limit: " +
			"{unit: hour, unit: minute, requests_per_unit: 3}}]\n",
		"anchors": "domain: d\ndescriptors: [{key: other, rate_limit: &l {unit: " +
			"minute, requests_per_unit: 3}}, {key: k, rate_limit: *l}]\n",
		"merge keys": "domain: d\ndescriptors: [{key: other, rate_limit: &l {unit: " +
			"minute, requests_per_unit: 4}}, {key: k, rate_limit: {<<: *l, requests_per_unit: " +
			"3}}]\n",
		"keys in the wrong place": "domain: d\nunit: second\ndescriptors: [{key: k, domain: x, " +
			"rate_limit: {unit: minute, requests_per_unit: 0x3}}]\n",
		"nothing": "domain: d\ndescriptors: [{key: k, value: , descriptors: , " +
			"rate_limit: {unit: minute, requests_per_unit: 3, replaces: , name: }}]\n",
	} {
		tree, faults := load(text, envoy.Options{})
		if faults != "" {
			t.Errorf("%s: %s", name, faults)
			continue
		}
		if got := find(tree, "d", "k=v"); got != "d.k 3/2 counts by v" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestFaults: every fault is found, with its line.
func TestFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                  "f.yaml:1:1: the file is empty: it has no domain\n",
		"descriptors: []\n": "f.yaml:1:1: the file has no domain\n",
		"- a\n":             "f.yaml:1:1: must be a mapping\n",
		"domain: [\n": "f.yaml:1:1: line 1: did not find expected node " +
			"content\n",
		"domain: d\nrate: 1\n": "f.yaml:2:1: unknown key \"rate\" (did you mean " +
			"\"rate_limit\"?)\n",
		"1: d\n": "f.yaml:1:1: a key must be a text, not 1\n",
		"domain: 1.5\n": "f.yaml:1:9: domain is a text, a whole number, " +
			"true or false\n",
		"domain: {key: d}\n": "f.yaml:1:9: domain is no " +
			"mapping\n",
		"domain: [{key: d}]\n": "f.yaml:1:9: domain is no " +
			"list\n",
		"domain: d\ndescriptors: [x]\n": "f.yaml:2:15: must be a " +
			"mapping\n",
		"domain: d\ndescriptors: x\n": "f.yaml:2:14: descriptors is " +
			"no text\n",
		"domain: d\ndescriptors: [{value: x}]": "f.yaml:2:15: the descriptor " +
			"has no key\n",
		"domain: d\ndescriptors: [{key: a_b}, {key: a, value: b}]": "f.yaml:2:27: the descriptor " +
			"\"d.a_b\" is there already\n",
		"domain: d\ndescriptors:\n- {key: a, rate_limt: 1}\n- {key: b, rate_limit: {unit: " +
			"fortnight, requests_per_unit: -1}}\n": "f.yaml:3:12: unknown key \"rate_limt\" (did " +
			"you mean \"rate_limit\"?)\n",
		"domain: d\ndescriptors:\n- {key: a, rate_limit: {unit: fortnight}}\n- {key: b, " +
			"rate_limit: {unit: day, requests_per_unit: -1}}\n- {key: c, rate_limit: {unit: " +
			"week, requests_per_unit: 1}}\n- {key: d, shadow_mode: maybe, rate_limit: " +
			"{unlimited: true, unit: day}}\n- {key: e, share_threshold: true}\n- {key: f, " +
			"rate_limit: {unit: day, name: n, replaces: [{name: n}, {}]}}\n": "f.yaml:3:31: the " +
			"unit is second, minute, hour or day, not \"fortnight\"\n" +
			"f.yaml:4:55: must be a whole number up to 4294967295, not \"-1\"\n" +
			"f.yaml:5:31: a window is at most a day here: rls.long_units: day makes a week a " +
			"part of it a day\n" +
			"f.yaml:6:25: must be true or false, not \"maybe\"\n" +
			"f.yaml:6:68: an unlimited descriptor has no unit\n" +
			"f.yaml:7:29: share_threshold is for values with a *\n" +
			"f.yaml:8:56: a limit cannot replace itself\n" +
			"f.yaml:8:67: replaces names no limit\n",
	} {
		if tree, got := load(text, envoy.Options{}); got != want || tree != nil {
			t.Errorf("%q:\n%s\nwant\n%s", text, got, want)
		}
	}
	_, faults := envoy.Load(
		[]envoy.File{
			{Name: "a", Data: []byte("domain: d")},
			{Name: "b", Data: []byte("domain: d")},
		},
		envoy.Options{},
	)
	if len(faults) != 1 || faults[0].File != "b" ||
		faults[0].Message != `the domain "d" is in a file before` {
		t.Errorf("%v", faults)
	}
	deep := "domain: d\ndescriptors: " + strings.Repeat("[{key: k, descriptors: ", 100) + "[]" +
		strings.Repeat("}]", 100)
	if _, got := load(deep, envoy.Options{}); !strings.Contains(got, "too large or too deep") {
		t.Error(got)
	}
}

// TestLongUnits: a week, a month and a year become days, rounded up, and that is said.
func TestLongUnits(t *testing.T) {
	t.Parallel()
	var notes []string
	tree, faults := load("domain: d\ndescriptors:\n- {key: w, rate_limit: {unit: week, "+
		"requests_per_unit: 15}}\n- {key: m, rate_limit: {unit: month, requests_per_unit: 1}}\n- "+
		"{key: y, rate_limit: {unit: year, requests_per_unit: 730}}\n- {key: z, rate_limit: "+
		"{unit: day, requests_per_unit: 4000000000}}\n",
		envoy.Options{
			LongUnits: true,
			Note: func(f envoy.Fault) {
				notes = append(notes,
					fmt.Sprintf("%d %s", f.Line, f.Message))
			},
		})
	if faults != "" {
		t.Fatal(faults)
	}
	for d, want := range map[string]string{
		"w=1": "d.w 3/4 counts by 1",
		"m=1": "d.m 1/4 counts by 1", "y=1": "d.y 2/4 counts by 1",
	} {
		if got := find(tree, "d", d); got != want {
			t.Errorf("%s: %s", d, got)
		}
	}
	if len(notes) != 4 || notes[0] != "3 d.w: a week is longer than a window can be: 3 a day" ||
		tree.Rules[3].Limit != mitigation.MaxLimit {
		t.Errorf("%q", notes)
	}
}

// FuzzLoad: no file makes the loader panic, and a tree and faults exclude each other.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("domain: d\ndescriptors: [{key: other, rate_limit: &l {unit: week, " +
		"requests_per_unit: 4}}, {key: k, rate_limit: {<<: [*l, *l], requests_per_unit: 3}}]\n"))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("domain: d\ndescriptors: [&a {key: k, <<: *a}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, faults := envoy.Load(
			[]envoy.File{{Name: "f", Data: data}},
			envoy.Options{LongUnits: true},
		)
		if (tree == nil) != (len(faults) > 0) {
			t.Errorf("%v, %v", tree, faults)
		}
		if tree == nil {
			return
		}
		for _, r := range tree.Rules {
			if len(r.Name) > mitigation.MaxRuleName || r.Limit < 1 ||
				r.Limit > mitigation.MaxLimit {
				t.Errorf("%+v", r)
			}
		}
	})
}

// TestWildcards: a star stands for any bytes, anywhere and as often as one likes; the first that
// matches holds, and no byte is matched twice.
func TestWildcards(t *testing.T) {
	t.Parallel()
	tree, faults := load(`
domain: d
descriptors:
  - {key: p, value: "/api/*/items", rate_limit: {unit: minute, requests_per_unit: 1}}
  - {key: p, value: "aba*aba", rate_limit: {unit: minute, requests_per_unit: 2}}
  - {key: p, value: "*.example", share_threshold: true, rate_limit: {unit: minute, requests_per_unit: 3}}
  - {key: p, value: "a*b*b*c", rate_limit: {unit: minute, requests_per_unit: 4}}
  - {key: p, value: "**z**", rate_limit: {unit: minute, requests_per_unit: 5}}
  - {key: "k*y", rate_limit: {unit: minute, requests_per_unit: 6}}
  - {key: p, rate_limit: {unit: minute, requests_per_unit: 9}}
`, envoy.Options{})
	if faults != "" {
		t.Fatal(faults)
	}
	for d, want := range map[string]string{
		"p=/api/7/items":   "1/2 counts by /api/7/items",
		"p=/api//items":    "1/2 counts by /api//items",
		"p=/api/items":     "9/2 counts by /api/items",
		"p=/api/7/items/8": "9/2 counts by /api/7/items/8",
		"p=aba":            "9/2 counts by aba", "p=ababa": "9/2 counts by ababa",
		"p=abaaba":      "2/2 counts by abaaba",
		"p=www.example": "3/2 counts by *.example", "p=.example": "3/2 counts by *.example",
		"p=abbc": "4/2 counts by abbc", "p=abc": "9/2 counts by abc",
		"p=abcb": "9/2 counts by abcb", "p=axbxcbxc": "4/2 counts by axbxcbxc",
		"p=z": "5/2 counts by z", "p=xzx": "5/2 counts by xzx", "key=y": "6/2 counts by y",
		"k=y": "6/2 counts by y", "k=x": "none",
	} {
		_, got, _ := strings.Cut(find(tree, "d", d), " ")
		if want == "none" {
			got = find(tree, "d", d)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}
