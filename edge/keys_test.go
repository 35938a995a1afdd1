package edge

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
)

func TestParseKeys(t *testing.T) {
	a, b := bytes.Repeat([]byte{'a'}, 32), bytes.Repeat([]byte{0xb0}, 32)
	aHex, bBase := hex.EncodeToString(a), base64.StdEncoding.EncodeToString(b)
	for text, want := range map[string]string{
		string(b):                      string(b),
		aHex:                           string(a),
		bBase + "\n":                   string(b),
		"\n" + aHex + "\r\n\n" + bBase: string(a) + string(b),
		string(a) + "\n" + aHex + "\n": string(a) + string(a),
		"":                             "",
		"\n":                           "",
		"secret":                       "",
		aHex + "\nsecret":              "",
		aHex[:62]:                      "",
		strings.Repeat(aHex+"\n", 9):   "",
	} {
		keys, err := parseKeys([]byte(text))
		if got := string(bytes.Join(keys, nil)); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %d keys, %v", text, len(keys), err)
		}
	}
}
