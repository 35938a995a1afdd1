package edge

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/config"
)

// A configuration without the key or the token that an open listener rests on is refused: until a
// restart the listener stays where it is, whatever the new file says of it.
func TestPrepareKeepsOpenListenersClosed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "headgate.yaml")
	if err := os.WriteFile(file, []byte("rules: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	everywhere, here := config.Address{Host: "0.0.0.0", Port: 4293},
		config.Address{Host: "127.0.0.1", Port: 4293}
	for _, c := range []struct {
		bind, admin config.Address
		want        string
	}{
		{here, here, ""},
		{everywhere, here, "gossip.key_file"},
		{here, everywhere, "admin_token_file"},
	} {
		started := config.Default()
		started.Gossip.Bind, started.Listen.Admin = c.bind, []config.Address{c.admin}
		_, err := prepare(file, &started)
		if (err == nil) != (c.want == "") ||
			err != nil && !strings.HasPrefix(err.Error(),
				c.want+": is required until the next restart") {
			t.Errorf("gossip on %s, admin on %s: %v", c.bind, c.admin, err)
		}
	}
}

// A node alone names secrets in keys by its key file too: its state outlives the process.
func TestDigestKeyOfANodeAlone(t *testing.T) {
	dir := t.TempDir()
	key, file := filepath.Join(dir, "key"), filepath.Join(dir, "headgate.yaml")
	if err := os.WriteFile(key, []byte(strings.Repeat("a", 64)), 0o600); err != nil {
		t.Fatal(err)
	}
	policies := "policies: [{name: api, match: {}, key: header.x-api-key, limit: 5, window: 1m}]\n"
	for text, same := range map[string]bool{
		policies: false,
		"gossip: {key_file: " + key + "}\n" + policies: true,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := prepare(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		if (p.digestKey([32]byte{1}) == p.digestKey([32]byte{2})) != same {
			t.Errorf("with\n%sone key for two processes: want %t", text, same)
		}
	}
}

// The names of the ring's counters are made of the first key and the PoP; only without a file are
// they made of the PoP alone.
func TestRingSecret(t *testing.T) {
	p := prepared{cfg: config.Config{PoP: "lhr"}}
	if got := string(p.ringSecret()); got != "\x00pop\x00lhr" {
		t.Errorf("%q", got)
	}
	first, second := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	p.keys = [][]byte{first, second}
	if got := string(p.ringSecret()); got != string(first)+"\x00pop\x00lhr" || first[0] != 1 {
		t.Errorf("%q", got)
	}
	if got := p.gossipKeys(); len(got) != 2 {
		t.Errorf("%d keys", len(got))
	}
}
