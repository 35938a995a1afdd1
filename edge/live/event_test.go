package live

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func ExampleAppendEvent() {
	fmt.Printf("%s", AppendEvent(nil, 7, "flag-set", []byte(`{"key":"203.0.113.7"}`)))
	// Output:
	// id: 7
	// event: flag-set
	// data: {"key":"203.0.113.7"}
}

// scanAll returns the events of a stream and the error that ended it.
func scanAll(r io.Reader) (all []Event, err error) {
	for s := NewScanner(r); ; {
		e, err := s.Next()
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
}

func TestScanner(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, stream string
		want         []Event
	}{
		{"nothing", "", nil},
		{"only beats", Beat + Beat, nil},
		{"one", "id: 1\nevent: a\ndata: x\n\n", []Event{{"1", "a", []byte("x")}}},
		{"CRLF", "id: 1\r\nevent: a\r\ndata: x\r\n\r\n", []Event{{"1", "a", []byte("x")}}},
		{"no space, no name", "data:x\n\n", []Event{{"", "message", []byte("x")}}},
		{"lines", "data: x\ndata:  y\ndata\n\n", []Event{{"", "message", []byte("x\n y\n")}}},
		{
			"an id lasts, a name does not", "id: 1\nevent: a\ndata: x\n\ndata: y\n\n",
			[]Event{{"1", "a", []byte("x")}, {"1", "message", []byte("y")}},
		},
		{
			"without data there is none", "id: 2\nevent: a\n\ndata: x\n\n",
			[]Event{{"2", "message", []byte("x")}},
		},
		{"empty data is some", "event: a\ndata\n\n", []Event{{"", "a", nil}}},
		{
			"comments and unknown fields", ": hello\nretry: 10\nevent: a\n:\ndata: x\n\n",
			[]Event{{"", "a", []byte("x")}},
		},
		{"cut short", "data: x\n\nevent: a\ndata: y\n", []Event{{"", "message", []byte("x")}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for name, r := range map[string]io.Reader{
				"whole":    strings.NewReader(tt.stream),
				"bytewise": iotest.OneByteReader(strings.NewReader(tt.stream)),
			} {
				got, err := scanAll(r)
				if diff := cmp.Diff(tt.want, got); diff != "" || !errors.Is(err, io.EOF) {
					t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
				}
			}
		})
	}
}

// TestScannerBounds checks that no event makes the scanner hold more than it says, in one line or
// in many.
func TestScannerBounds(t *testing.T) {
	t.Parallel()
	for name, endless := range map[string]string{
		"one line": "x",
		"many":     "\ndata: " + strings.Repeat("x", 1<<16),
	} {
		_, err := scanAll(io.MultiReader(strings.NewReader("data: "), &repeating{text: endless}))
		if !errors.Is(err, ErrTooLong) {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := errors.New("the line broke")
	if _, err := scanAll(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// repeating is a reader of the same text for ever.
type repeating struct {
	text string
	at   int
}

func (r *repeating) Read(p []byte) (int, error) {
	for n := range p {
		p[n] = r.text[r.at]
		r.at = (r.at + 1) % len(r.text)
	}
	return len(p), nil
}

// FuzzEvent checks that a Scanner reads the events that AppendEvent writes, whatever the data.
func FuzzEvent(f *testing.F) {
	for _, data := range []string{
		"", "x", `{"key":"\u003cscript>"}`, "a\nb", "a\r\nb\n", "\n",
		"data: x\n\nevent: forged\ndata: y", ": c", " x",
	} {
		f.Add(uint64(1), "flag-set", []byte(data))
	}
	f.Fuzz(func(t *testing.T, id uint64, name string, data []byte) {
		if strings.ContainsAny(name, "\r\n") || name == "" || name[0] == ' ' {
			t.Skip("no name of ours")
		}
		stream := AppendEvent([]byte(Beat), id, name, data)
		got, err := scanAll(bytes.NewReader(append(stream, stream...)))
		if len(got) != 2 || !errors.Is(err, io.EOF) {
			t.Fatalf("%d events, %v", len(got), err)
		}
		want := strings.ReplaceAll(string(data), "\r", "\n")
		for _, e := range got {
			if string(e.Data) != want || e.Name != name ||
				id != 0 && e.ID != strconv.FormatUint(id, 10) {
				t.Errorf("%+v of %d %q %q", e, id, name, data)
			}
		}
	})
}

// FuzzScanner checks that no stream makes the scanner panic, loop or hold more than it was sent.
func FuzzScanner(f *testing.F) {
	f.Add([]byte("id: 1\nevent: a\ndata: x\n\n: beat\n\ndata\r\n\r\n"))
	f.Add([]byte("data:\n\n\n\ndata: \n\nid\nevent\n\n"))
	f.Add([]byte("\xff\x00:\ndata: \x00\n\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		all, err := scanAll(bytes.NewReader(stream))
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		size := 0
		for _, e := range all {
			size += len(e.Data)
		}
		if size > len(stream) {
			t.Errorf("%d bytes of events from %d", size, len(stream))
		}
	})
}
