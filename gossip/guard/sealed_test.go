package guard

import (
	"bytes"
	"testing"

	"github.com/headgate-dev/headgate/gossip/guard/guardtest"
)

// FuzzVet: no message passes that memberlist would have to unpack.
func FuzzVet(f *testing.F) {
	f.Add(guardtest.PushPull(2, 1, []byte("\x82\xa4Addr\xc4\x02\x0a\x00\xa4Name\xa1a\x80x")))
	f.Add([]byte("\x00\x82\xa5SeqNo\xcd\x01\x02\xa4Node\xa1b"))
	f.Add([]byte{7, 2, 0, 1, 0, 3, 8, 9, 0x82, 0xa4})
	f.Add([]byte{12, 1, 2, 3, 4, 9, 0x80})
	f.Fuzz(func(t *testing.T, msg []byte) {
		before := bytes.Clone(msg)
		packet, stream := vetPacket(msg), vetStream(msg, 100, 1000)
		if len(msg) > 0 && msg[0] == msgCompress && (packet == nil || stream == nil) {
			t.Error("a compressed message is passed on")
		}
		if len(msg) == 0 && (packet == nil || stream == nil) {
			t.Error("an empty message is passed on")
		}
		if !bytes.Equal(before, msg) {
			t.Error("the message was changed")
		}
	})
}

// TestFields checks the values that a flat map may hold.
func TestFields(t *testing.T) {
	for text, want := range map[string]bool{
		"\x80":                           true,
		"\x81\xa1a\x05":                  true,
		"\x81\xa1a\xe0":                  true,
		"\x81\xa1a\xc0":                  true,
		"\x81\xa1a\xcb12345678":          true,
		"\x81\xa1a\xcb1234567":           false, // cut off
		"\x81\xa1a\xc5\x00\x02xy":        true,
		"\x81\xa1a\xdb\x00\x00\x00\x01x": true,
		"\x81\xa1a\xdb\xff\xff\xff\xff":  false,
		"\x81\xa1a\x90":                  false, // a list
		"\x81\xa1a\x80":                  false, // a map
		"\x81\xa1a\xd4\x00\x00":          false, // another type
		"\x81\xa1a\xc1":                  false, // none
		"\x81\x05\x05":                   false, // a name that is a number
		"\x81":                           false,
		"\x82\xa1a\x05":                  false,
		"\xde\x00\x00":                   false, // a long map
		"\x90":                           false,
		"":                               false,
	} {
		if rest, ok := skipFields([]byte(text), nil); ok != want || len(rest) != 0 {
			t.Errorf("%q: %v with %d bytes left, want %v", text, ok, len(rest), want)
		}
	}
	for text, want := range map[string]int64{
		"\x7f": 127, "\xff": -1, "\xcc\xff": 255, "\xcd\x01\x00": 256,
		"\xce\x00\x01\x00\x00": 65536, "\xd0\xff": -1, "\xd1\xff\xff": -1,
		"\xd2\xff\xff\xff\xff":                 -1,
		"\xcf\x00\x00\x00\x01\x00\x00\x00\x00": 1 << 32, "\xd3\xff\xff\xff\xff\xff\xff\xff\xff": -1,
	} {
		var n int64
		if _, ok := skipFields([]byte("\x81\xa1n"+text), map[string]*int64{"n": &n}); !ok ||
			n != want {
			t.Errorf("%q: %d, %v, want %d", text, n, ok, want)
		}
	}
	var n int64
	if _, ok := skipFields([]byte("\x81\xa1n\xc0"), map[string]*int64{"n": &n}); ok {
		t.Error("nil is a number")
	}
}
