package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// shown returns w as text.
func shown(w *Whole) string {
	var b strings.Builder
	fmt.Fprintf(&b, "report=%v ticket=%x ended=%v status=%d cost=%d delay=%v deceive=%v id=%s",
		w.Report, w.Ticket, w.Ended, w.Status, w.Cost, w.Delay, w.Deceive, w.ID)
	for _, p := range w.Pairs {
		fmt.Fprintf(&b, " %d.%s=%q", p.Field, p.Name, p.Value)
	}
	return b.String()
}

// noWords is what shown returns of a line without words of its own.
const noWords = "ticket=0 ended=false status=0 cost=0 delay=false deceive=false id="

var wholeLines = []struct {
	line string
	code Code
	want string
}{
	{
		"ask method=GET path=/a%20b?q=1 host=x.example client=203.0.113.7 id=7", NoError,
		`report=false ` + noWords + `7 0.="GET" 1.="/a b?q=1" 2.="x.example" 3.="203.0.113.7"`,
	},
	{
		"ask path=/ header.X-Api-Key=k%3D1 header.x-api-key= delay=ok deceive=ok",
		NoError,
		`report=false ticket=0 ended=false status=0 cost=0 delay=true deceive=true id= 1.="/" 12.X-Api-Key="k=1" 12.x-api-key=""`,
	},
	{
		"ask path=/ country=DE asn=AS3320 ja3=a ja4=b tls=1.3 scheme=https tier=gold peer=::1",
		NoError,
		`report=false ` + noWords +
			` 1.="/" 5.="DE" 6.="AS3320" 7.="a" 8.="b" 9.="1.3" 10.="https" 11.="gold" 4.="::1"`,
	},
	{
		"report ticket=00000000000000af status=401 cost=3 ms=0.120", NoError,
		`report=true ticket=af ended=true status=401 cost=3 delay=false deceive=false id=`,
	},
	{
		"<190>Nov 22 07:28:50 headgate: report ticket=- status=499 ms=0", NoError,
		`report=true ticket=0 ended=true status=499 cost=0 delay=false deceive=false id=`,
	},
	{
		"<190>Nov  2 07:28:50 edge-1 nginx: report path=/login status=401\r",
		NoError,
		`report=true ticket=0 ended=false status=401 cost=0 delay=false deceive=false id= 1.="/login"`,
	},
	{
		"report path=/ status=- response.header.X-Cost=5", NoError,
		`report=true ` + noWords + ` 1.="/" 13.X-Cost="5"`,
	},
	{
		"report ticket=00000000000000af status=401 cost= s=0.012 response.header.x-tokens=", NoError,
		`report=true ticket=af ended=true status=401 cost=0 delay=false deceive=false id=`,
	},
	{
		"report ticket=00000000000000af status= cost=- ms=- s= response.header.x=-", NoError,
		`report=true ticket=af ended=true status=0 cost=0 delay=false deceive=false id=`,
	},
	{
		`report ticket="00000000000000af" status="401" s="" cost="-" ` +
			`response.header.x="a \"b\" \u00e9\ud83d\ude00\/\t%20"`,
		NoError,
		`report=true ticket=af ended=true status=401 cost=0 delay=false deceive=false id= ` +
			`13.x="a \"b\" é😀/\t%20"`,
	},
	{
		`report path="/a b" status=200 header.x="\ud800x" method="GET"`, NoError,
		`report=true ` + strings.Replace(noWords, "status=0", "status=200", 1) +
			` 1.="/a b" 12.x="�x" 0.="GET"`,
	},
	{`ask path="/a"`, NoError, `report=false ` + noWords + ` 1.="\"/a\""`},
	{"ask path=/ colour=red", UnknownField, ""},
	{"ask path=/ status=200", UnknownField, ""},
	{
		"ask path=/ cut=path cut=header.cookie", NoError,
		`report=false ` + noWords + ` 1.="/" 14.="path" 14.="header.cookie"`,
	},
	{"ask path=/ header.a(b=x", NoError, `report=false ` + noWords + ` 1.="/" 12.a(b="x"`},
	{"ask path=/ host= tier=", NoError, `report=false ` + noWords + ` 1.="/" 2.="" 11.=""`},
}

var malformedWholes = []string{
	`report ticket=00000000000000af status=200 cost="`,
	`report ticket=00000000000000af status=200 cost="1"2`,
	`report ticket=00000000000000af status=200 response.header.x="a\x20"`,
	`report ticket=00000000000000af status=200 response.header.x="a\"`,
	`report ticket=00000000000000af status=200 response.header.x="a\u00e"`,
	"report ticket=00000000000000af status=200 cost=x",
	"report ticket=00000000000000af status=200 cost=0",
	"report ticket=00000000000000af status=200 s=1e3",
	"report ticket=00000000000000af status=200 s=-1",
	"report ticket=00000000000000af status=200 s=1 ms=1",
	"ask",
	"ask method=GET",
	"ask path=/ path=/",
	"ask path=/%zz",
	"ask path=/  host=a",
	"ask path=/ header.=x",
	"report status=200",
	"report ticket=af status=200",
	"report ticket=00000000000000af",
	"report ticket=00000000000000af status=99",
	"report ticket=00000000000000af status=200 ms=1.",
	"report ticket=00000000000000af status=200 status=200",
	"<190>Nov 22 07:28:50 headgate: check login k",
	"<>",
	"ask path",
	"ask path=/ ",
	"ask path=/%",
	"ask path=/ host= client",
	"ask path=/\x01",
	"answer",
}

func TestWholeLines(t *testing.T) {
	for _, c := range wholeLines {
		var w Whole
		if code := ParseWhole(&w, []byte(c.line)); code != c.code ||
			code == NoError && shown(&w) != c.want {
			t.Errorf("%.60q: %v %s\nwant %v %s", c.line, code, shown(&w), c.code, c.want)
		}
	}
	for _, line := range malformedWholes {
		if code := ParseWhole(&Whole{}, []byte(line)); code != BadRequest {
			t.Errorf("%q: %v", line, code)
		}
	}
}

func TestWholeAnswers(t *testing.T) {
	for _, c := range []struct {
		a    WholeAnswer
		want string
	}{
		{WholeAnswer{Ground: []byte("none")}, "allow why=none"},
		{
			WholeAnswer{Ground: []byte("none"), Answer: Answer{ID: []byte("7"), Shadow: true}},
			"id=7 allow why=none shadow=deny",
		},
		{
			WholeAnswer{
				Rule: []byte("login"), Ticket: 0xaf,
				Answer: Answer{Remaining: 3, Reset: 60},
			},
			"allow ticket=00000000000000af rule=login remaining=3 reset=60 view=node",
		},
		{
			WholeAnswer{
				Rule:   []byte("login"),
				Answer: Answer{Status: Deny, Why: WhyShed, Retry: 1, Ratio: .5},
			},
			"deny why=shed retry=1 rule=login view=node ratio=0.50",
		},
		{
			WholeAnswer{Ground: []byte("policy"), HTTP: 403, Answer: Answer{Status: Deny}},
			"deny why=policy status=403",
		},
		{WholeAnswer{Answer: Answer{Status: OK}}, "ok"},
		{WholeAnswer{Late: true, Answer: Answer{Status: OK}}, "ok late=1"},
		{WholeAnswer{Answer: Answer{Status: Error, Code: UnknownField}}, "error unknown-field"},
	} {
		if got := string(AppendWhole(nil, &c.a)); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		for limit := range 80 {
			line, ok := AppendWholeMax(nil, &c.a, limit)
			if len(line) > limit || ok != (len(line) > 0) {
				t.Errorf("at most %d: %q", limit, line)
			}
		}
		if _, err := ParseAnswer(AppendWhole(nil, &c.a)); err != nil {
			t.Errorf("%q cannot be read back: %v", c.want, err)
		}
	}
}

func FuzzParseWhole(f *testing.F) {
	for _, seed := range []string{
		"ask path=/", "report ticket=00000000000000af status=401 ms=0.1 id=x",
		"<190>Nov 22 07:28:50 h: report path=/ status=0", "ask path=/ header.A=%41",
		`report path="/a \u00e9" status="200" header.a="\ud83d\ude00" cost="" s="0.1"`,
	} {
		f.Add([]byte(seed))
	}
	var w Whole
	f.Fuzz(func(t *testing.T, line []byte) {
		size := len(line)
		if ParseWhole(&w, bytes.Clone(line)) != NoError {
			return
		}
		used := 0
		for _, p := range w.Pairs {
			used += len(p.Name) + len(p.Value)
		}
		if used > size || len(w.ID) > MaxID || w.Status > 999 || len(w.Pairs) > size {
			t.Errorf("%q: %s", line, shown(&w))
		}
		if bytes.Contains(line, []byte(`="`)) {
			return // perhaps quoted: see FuzzQuoted
		}
		var other Whole
		code := ParseWhole(&other, escaped(line))
		if code == TooLong && len(line) > MaxValue/3 {
			return
		}
		if code != NoError || shown(&w) != shown(&other) {
			t.Errorf("%q: %s; with all escaped: %d, %s", line, shown(&w), code, shown(&other))
		}
	})
}

// FuzzQuoted: a value in quotes is the text that JSON means.
func FuzzQuoted(f *testing.F) {
	for _, seed := range []string{`a "b" \u00e9`, "\\ud83d\\ude00", "é😀\x01", `\u`, "a\nb"} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	var w Whole
	f.Fuzz(func(t *testing.T, text string, raw bool) {
		quoted := `"` + text + `"`
		if !raw {
			b, _ := json.Marshal(text)
			quoted = string(b)
		}
		var want string
		known := json.Unmarshal([]byte(quoted), &want) == nil
		line := "report ticket=- status=200 response.header.x=" + quoted
		code := ParseWhole(&w, []byte(line))
		switch {
		case !known || !utf8.ValidString(quoted): // other bytes are taken as they are
		case code != NoError || want != "" && want != "-" && string(w.Pairs[0].Value) != want:
			t.Errorf("%s: %d, %s, want %q", line, code, shown(&w), want)
		}
	})
}

// escaped returns line with every byte of its fields' values escaped, which means the same.
func escaped(line []byte) (out []byte) {
	escape := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == ' ':
			escape = false
			out = append(out, c)
		case !escape && c == '=':
			name := out[bytes.LastIndexByte(out, ' ')+1:]
			_, escape = FieldOf(name, true)
			out = append(out, c)
		case escape && c == '%':
			out = append(out, line[i:i+3]...)
			i += 2
		case escape && c != '\r':
			out = fmt.Appendf(out, "%%%02X", c)
		default:
			out = append(out, c)
		}
	}
	return out
}

func TestWholeAllocatesNothing(t *testing.T) {
	line := []byte("ask method=GET path=/a host=x.example client=203.0.113.7 header.x-api-key=abc")
	var w Whole
	if n := testing.AllocsPerRun(100, func() { _ = ParseWhole(&w, line) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
