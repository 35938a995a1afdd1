package wire

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// describeQuery puts what ParseQuery returned into words.
func describeQuery(q Query, code Code) string {
	s := q.Op.String()
	switch {
	case code != NoError:
		s = code.String()
		if q.Op != 0 || q.Cost != 0 || q.Rule != nil || q.Key != nil {
			s += " and more than an id"
		}
	case q.Op != Ping:
		s += fmt.Sprintf(" rule=%s key=%q cost=%s", q.Rule, q.Key, q.AppendCost(nil))
	}
	return s + describeID(q.ID)
}

// describeAnswer puts what ParseAnswer returned into words.
func describeAnswer(a Answer, err error) string {
	s := a.Status.String()
	switch {
	case err != nil:
		s = err.Error()
	case a.Status == Allow:
		s += fmt.Sprintf(" remaining=%d reset=%d view=%s", a.Remaining, a.Reset, a.View)
		if a.Shadow {
			s += " shadow"
		}
	case a.Status == Deny:
		s += fmt.Sprintf(" why=%s retry=%d view=%s", a.Why, a.Retry, a.View)
		if a.Ratio != 0 {
			s += fmt.Sprintf(" ratio=%.2f", a.Ratio)
		}
		if a.Remaining != 0 {
			s += fmt.Sprintf(" remaining=%d", a.Remaining)
		}
	case a.Status == Error:
		s += " " + a.Code.String()
	}
	return s + describeID(a.ID)
}

func describeID(id []byte) string {
	if id == nil {
		return ""
	}
	return " id=" + string(id)
}

// goldenLines calls f with each line of a golden file: the quoted bytes of a
// protocol line, what they mean, and whether it is how that is written ("="
// in front), not only read.
func goldenLines(t *testing.T, name string, f func(line, meaning string, written bool)) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	n := 0
	for scan := bufio.NewScanner(file); scan.Scan(); {
		text := scan.Text()
		if text == "" || text[0] == '#' {
			continue
		}
		quoted, meaning, ok := strings.Cut(text[1:], "\t")
		line, err := strconv.Unquote(quoted)
		if !ok || err != nil {
			t.Fatalf("%s: %q is no golden line: %v", name, text, err)
		}
		f(line, meaning, text[0] == '=')
		n++
	}
	if n == 0 {
		t.Fatalf("%s holds no lines", name)
	}
}

// The golden files are never rewritten, there is no flag for it: what was once
// released is read, and written, for ever.
func TestGoldenQueries(t *testing.T) {
	goldenLines(t, "testdata/queries.golden", func(line, meaning string, written bool) {
		var q Query
		code := ParseQuery(&q, []byte(line))
		if got := describeQuery(q, code); got != meaning {
			t.Errorf("%q\nmeans %s\n want %s", line, got, meaning)
		}
		if got := AppendQuery(nil, q); written && string(got) != line {
			t.Errorf("%s\nis written %q\n      want %q", meaning, got, line)
		}
	})
}

func TestGoldenAnswers(t *testing.T) {
	goldenLines(t, "testdata/answers.golden", func(line, meaning string, written bool) {
		a, err := ParseAnswer([]byte(line))
		if got := describeAnswer(a, err); got != meaning {
			t.Errorf("%q\nmeans %s\n want %s", line, got, meaning)
		}
		if got := AppendAnswer(nil, &a); written && string(got) != line {
			t.Errorf("%s\nis written %q\n      want %q", meaning, got, line)
		}
	})
}
