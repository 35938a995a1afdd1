package policy

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/policy/condition"
)

// A file's faults bear its name and line; too many entries and too much memory are faults.
func TestLoadFaults(t *testing.T) {
	file := func(text string) Options {
		return Options{Open: func(string) (io.ReadCloser,
			error,
		) {
			return io.NopCloser(strings.NewReader(text)), nil
		}}
	}
	p := limit("p", nil)
	p.Own = nil
	p.Deny = 403
	for _, c := range []struct {
		set  Set
		text string
		want string
	}{
		{Set{Kind: CIDRFile}, "192.0.2.1\n\n # all\n10.0.0.0/8 # ours\n", ""},
		{Set{Kind: CIDRFile}, "192.0.2.1\n10.0.0.1/8\nx", "f:2: 10.0.0.1/8 has bits behind its " +
			"prefix: write 10.0.0.0/8\nf:3: must be an address or a network such as " +
			"192.0.2.0/24, not \"x\""},
		{Set{Kind: TableFile}, "a,free\nb,gold\na,gold\nc\n,x\n", "f:3: the value stands on line " +
			"1 already\nf:4: a line holds a value, a comma and a tier or a number\n" +
			"f:5: the value is empty"},
	} {
		c.set.Name, c.set.File = "s", "f"
		_, err := Load(&Spec{Sets: []Set{c.set}, Policies: []Policy{p}}, file(c.text))
		if got := fmt.Sprint(err); got != c.want && (c.want != "" || err != nil) {
			t.Errorf("%q: got %s, want %s", c.text, got, c.want)
		}
	}
	o := file("192.0.2.1\n192.0.2.9\n")
	o.MaxBytes = 10
	if _, err := Load(&Spec{Sets: []Set{{Name: "s", Kind: CIDRFile}}}, o); err == nil ||
		err.Error() != "all sets together may take 10 bytes of memory; with this one they take 24" {
		t.Errorf("got %v", err)
	}
}

// More distinct tests than a request's memory has room for are a fault.
func TestTooManyTests(t *testing.T) {
	var policies []Policy
	for i := range 900 {
		var terms []*condition.Expr
		for j := range 5 {
			terms = append(terms, term(t, fmt.Sprintf("header.h%d", j), fmt.Sprintf("v%d", i)))
		}
		policies = append(policies, limit(fmt.Sprintf("p%d", i), condition.All(terms...)))
	}
	s := &Spec{Policies: policies}
	_, err := Load(s, Options{Rules: ruleNames(s)})
	if err == nil || err.Error() != "the policies have more than 4096 different tests" {
		t.Errorf("got %v", err)
	}
}
