package request

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestReadings(t *testing.T) {
	const params, tail, letters = FoldParams, FoldTail, FoldCase
	for _, c := range []struct {
		path          string
		folds         Folds
		sent, decoded string // decoded "" is sent
	}{
		{"/login", FoldSlash, "/login", ""},
		{"/login/", FoldSlash, "/login/", ""},
		{"//login//", FoldSlash, "/login/", ""},
		{"/login/.", FoldSlash, "/login/", ""},
		{"/caf%C3%A9", 0, "/café", ""},
		{"/sp%20ace", 0, "/sp ace", ""},
		{"/%2Flogin", 0, "/%2Flogin", "/login"},
		{"/login%2f", 0, "/login%2F", "/login/"},
		{"/a%2F..%2Flogin", 0, "/a%2F..%2Flogin", "/login"},
		{"/a%2F../login", 0, "/a%2F../login", "/login"},
		{"/x%2Fa/../login", 0, "/login", "/x/login"},
		{"/a%2F/../login", 0, "/login", ""},
		{"/a/..%2flogin", 0, "/a/..%2Flogin", "/login"},
		{"/%252Flogin", 0, "/%252Flogin", "/%2Flogin"},
		{"/a%25/../b", 0, "/b", ""},
		{"/%2561", 0, "/%2561", "/%61"},
		{"/%zz%4", 0, "/%zz%4", ""},
		{"/%00%0a%ff", 0, "/\x00\n\xff", ""},
		{"/%3f%23x", 0, "/?#x", ""},
		{"/free/x#/../../login", 0, "/free/x", "/login"},
		{"/login#x", 0, "/login", "/login#x"},
		{"/LOGIN%2fÄ", letters, "/login%2fÄ", "/login/Ä"},
		{"/a/..;/login", 0, "/a/..;/login", ""},
		{"/a/..;x=y/login;jsessionid=1", params, "/login", ""},
		{"/a/..%3b/login", params, "/login", ""},
		{"/;a/login;b%2Fc", params, "/login", "/login/c"},
		{"/;", params, "/", ""},
		{"/login. .", tail, "/login", ""},
		{"/login%2e%20", tail, "/login", ""},
		{"/login./", tail, "/login./", ""},
		{"/a/..", tail, "/", ""},
		{"/. ", tail, "/", ""},
		{"*", letters | params | tail, "*", ""},
	} {
		if c.decoded == "" {
			c.decoded = c.sent
		}
		clients := Clients{Folds: c.folds}
		if sent, decoded := clients.Readings(c.path); sent != c.sent || decoded != c.decoded {
			t.Errorf("%s with %d: got %q and %q, want %q and %q", c.path, c.folds, sent,
				decoded, c.sent, c.decoded)
		}
	}
	raw := Clients{Raw: true, Folds: letters | tail}
	if sent, decoded := raw.Readings("//A%2F."); sent != "//A%2F." || decoded != sent {
		t.Errorf("raw: got %q and %q", sent, decoded)
	}
}

// Every byte has one place in both readings, however it is spelt; only the slash and the percent
// sign stay escaped as sent.
func TestEveryEscape(t *testing.T) {
	for b := range 256 {
		clients, text := Clients{}, string([]byte{byte(b)})
		for _, escape := range []string{fmt.Sprintf("%%%02X", b), fmt.Sprintf("%%%02x", b)} {
			for _, form := range []string{"/a%sb", "/%s", "/x/../%sz", "/x%s/../y", "/%s%[1]s/."} {
				sent, decoded := clients.Readings(fmt.Sprintf(form, escape))
				_, want := clients.Readings(fmt.Sprintf(form, text))
				switch b {
				case '/':
					if decoded != want {
						t.Errorf("%s in %s: decoded %q, want %q", escape, form, decoded, want)
					}
				case '%':
					if want := strings.ReplaceAll(want, "%25", "%"); decoded != want {
						t.Errorf("%s in %s: decoded %q, want %q", escape, form, decoded, want)
					}
				default:
					if sent != want || decoded != want {
						t.Errorf("%s in %s: got %q and %q, want %q", escape, form,
							sent, decoded, want)
					}
				}
				double := strings.ReplaceAll(escape, "%", "%25")
				if _, decoded := clients.Readings("/a" + double); decoded != "/a"+escape {
					t.Errorf("/a%s: decoded %q", double, decoded)
				}
			}
		}
	}
}

// What spelt paths are made of.
var pieces = []string{
	"/", "/", "/", "a", "B", ".", "..", "%2e", "%2E", "%61", "%20", " ", "%c3%a9",
	"%25", "%2561", "%2F", "%2f", "%252f", ";", "%3B", "x=1", "%", "%4", "%zz", "...", "+",
}

func anyPath(rng *rand.Rand) string {
	path := "/"
	for range rng.IntN(10) {
		path += pieces[rng.IntN(len(pieces))]
	}
	return path
}

// A reading is resolved: resolved again, it stays as it is. Without an escape that is left, the two
// are one.
func TestReadingsAreResolved(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 100_000 {
		path, clients := anyPath(rng), Clients{Folds: Folds(rng.IntN(16))}
		sent, decoded := clients.Readings(path)
		lower := strings.ToLower(path)
		if sent != decoded && !strings.Contains(lower, "%2f") && !strings.Contains(lower, "%25") {
			t.Fatalf("%q with %d: %q and %q differ", path, clients.Folds, sent, decoded)
		}
		for _, reading := range []string{sent, decoded} {
			// An escaped percent sign keeps what was decoded from being decoded once more.
			again, _ := clients.Readings(strings.ReplaceAll(reading, "%", "%25"))
			if again = strings.ReplaceAll(again, "%25", "%"); again != reading ||
				reading[0] != '/' {
				t.Fatalf("%q with %d: %q became %q", path, clients.Folds, reading, again)
			}
		}
		if clients.Folds&FoldCase != 0 && strings.ContainsAny(sent+decoded, "ABCDEF") {
			t.Fatalf("%q: capitals in %q and %q", path, sent, decoded)
		}
	}
}

func TestKeyPath(t *testing.T) {
	for path, want := range map[string]string{
		"/": "/", "/a": "/a", "/a/": "/a", "/a%2F": "/a",
		"/%2F": "/", "/a%2Fb": "/a/b",
	} {
		var r Request
		c := DefaultClients()
		if r.setPath([]byte(path), &c); string(r.KeyPath(&c)) != want {
			t.Errorf("%s: got %q, want %q", path, r.KeyPath(&c), want)
		}
		c.Folds = 0
		if got := string(r.KeyPath(&c)); strings.HasSuffix(path, "a/") && got != "/a/" {
			t.Errorf("%s without folds: got %q", path, got)
		}
	}
}
