package ring

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// FuzzReply feeds answers to the parser: it accepts the answers of memcached and nothing else,
// reads no further than two lines, and never returns a value with an error.
func FuzzReply(f *testing.F) {
	for _, lie := range lies {
		f.Add([]byte(lie[:min(len(lie), 2*readBytes)]), uint32(0))
	}
	f.Add([]byte("VA 1 O17\r\n5\r\n"), uint32(17))
	f.Add([]byte("VA 20 O4294967295\r\n18446744073709551615\r\nVA"), uint32(math.MaxUint32))
	f.Add([]byte("NF O3\r\n"), uint32(3))
	f.Add([]byte(nonNumeric+"\r\n"), uint32(4))
	f.Fuzz(func(t *testing.T, said []byte, number uint32) {
		from := bytes.NewReader(said)
		in := bufio.NewReaderSize(from, readBytes)
		total, err := readValue(in, number)
		read := string(said[:len(said)-from.Len()-in.Buffered()])
		if value, size := valueIn(said, number); size > 0 &&
			(err != nil || value != total || size != len(read)) {
			t.Errorf("%q is %d in place, and read as %d, %v", said[:size], value, total, err)
		}
		switch {
		case err == nil:
			length, text, _ := strings.Cut(strings.TrimPrefix(read, "VA "), " ")
			number, text, _ := strings.Cut(strings.TrimPrefix(text, "O"), "\r\n")
			if want := fmt.Sprintf("VA %s O%s\r\n%s", length, number, text); want != read ||
				!sameNumber(text, total) {
				t.Errorf("%q is read as %d", read, total)
			}
		case total != 0:
			t.Errorf("%q: %d and %v", read, total, err)
		case errors.Is(err, errMissing) && read != fmt.Sprintf("NF O%d\r\n", number),
			errors.Is(err, ErrValue) && read != nonNumeric+"\r\n":
			t.Errorf("%q: %v", read, err)
		}
		if len(said)-from.Len() > readBytes+maxLine {
			t.Errorf("read %d bytes", len(said)-from.Len())
		}
	})
}

// sameNumber tells whether text is total and the end of a line; leading zeros are allowed.
func sameNumber(text string, total uint64) bool {
	digits := strings.TrimSuffix(text, "\r\n")
	plain := strings.TrimLeft(digits, "0")
	if plain == "" {
		plain = "0"
	}
	return digits+"\r\n" == text && plain == fmt.Sprint(total)
}

// TestValueIn: the common answer is taken where it lies, and left to readReply unless all of it is
// there.
func TestValueIn(t *testing.T) {
	for text, want := range map[string]uint64{
		"VA 1 O7\r\n5\r\n":                      5,
		"VA 3 O7\r\n123\r\nVA":                  123,
		"VA 19 O7\r\n1844674407370955161\r\nVA": 1844674407370955161,
	} {
		size := strings.LastIndex(text, "\r\n") + 2
		if got, n := valueIn([]byte(text), 7); got != want || n != size {
			t.Errorf("%q: %d in %d bytes", text, got, n)
		}
		for cut := range size {
			if _, n := valueIn([]byte(text[:cut]), 7); n != 0 {
				t.Errorf("%q is taken for whole", text[:cut])
			}
		}
	}
	for _, text := range []string{
		"VA 1 O8\r\n5\r\n", "VA 01 O7\r\n5\r\n", "VA 1 O07\r\n5\r\n", "VA 1 O\r\n5\r\n",
		"VA 2 O7\r\n5\r\n", "VA 0 O7\r\n\r\n",
		"VA 1 O7\r\n-\r\n", "VA 1 O7\n5\r\n", "VA 1 O7 \r\n5\r\n", "NF O7\r\n",
		"VA 20 O7\r\n18446744073709551615\r\n",
	} {
		if got, n := valueIn([]byte(text), 7); n != 0 {
			t.Errorf("%q: %d in %d bytes", text, got, n)
		}
	}
	if _, n := valueIn([]byte("VA 1 O\r\n5\r\n"), 0); n != 0 {
		t.Error("an answer without a number is taken for number 0")
	}
}

func TestReadReply(t *testing.T) {
	for said, want := range map[string]struct {
		total uint64
		err   error
	}{
		"VA 1 O7\r\n5\r\n":                {5, nil},
		"VA 2 O7\r\n05\r\n":               {5, nil},
		"NF O7\r\n":                       {0, errMissing},
		nonNumeric + "\r\n":               {0, ErrValue},
		"VA 1 O8\r\n5\r\n":                {0, ErrReply},
		"VA 1 O77\r\n5\r\n":               {0, ErrReply},
		"VA 1\r\n5\r\n":                   {0, ErrReply},
		"VA 1 t5 O7\r\n5\r\n":             {0, ErrReply},
		"VA 2 O7\r\n5\r\n":                {0, ErrReply},
		"VA 2 O7\r\n+5\r\n":               {0, ErrReply},
		"VA 3 O7\r\n1_0\r\n":              {0, ErrReply},
		"VA 0 O7\r\n\r\n":                 {0, ErrReply},
		"NF O8\r\n":                       {0, ErrReply},
		"NF\r\n":                          {0, ErrReply},
		"HD O7\r\n":                       {0, ErrReply},
		"NF O7\n":                         {0, ErrReply},
		serverError + "out of memory\r\n": {0, ErrServer},
		serverError + strings.Repeat("x", maxLine) + "\r\n": {0, ErrReply},
	} {
		total, err := readValue(bufio.NewReader(strings.NewReader(said)), 7)
		if total != want.total || !errors.Is(err, want.err) {
			t.Errorf("%q: %d (%v), want %d (%v)", said, total, err, want.total, want.err)
		}
	}
}

// TestCreatingIsNeverMissing hears that there is no such counter, when it was to be created.
func TestCreatingIsNeverMissing(t *testing.T) {
	for delta, want := range map[uint64]error{0: nil, 1: ErrReply} {
		p := newPipeline(scripted{strings.NewReader("NF O7\r\n")})
		op := Op{Delta: delta, TTL: 60}
		if err := p.answer(&op, 7); !errors.Is(err, want) {
			t.Errorf("delta %d: %v, want %v", delta, err, want)
		}
	}
}

func TestAppendCommand(t *testing.T) {
	for want, op := range map[string]Op{
		"ma hg:00000000000000000000000000000001 D0 v O7\r\n": {Key: keyOf(1), TTL: 60},
		"ma hg:00000000000000000000000000000002 N60 J5 D5 v O7\r\n": {
			Key: keyOf(2), Delta: 5,
			TTL: 60,
		},
	} {
		if got := string(appendCommand(nil, &op, 7)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestNumbersWrap goes on where the numbers of commands end.
func TestNumbersWrap(t *testing.T) {
	fake := &fake{}
	r := openRing(t, Config{Servers: make([]Server, 1), Timeout: unhurried, Dial: fake.pipe})
	r.Do(t.Context(), adds(1, 1, 1))
	r.servers[0].link.(*pipeline).number = math.MaxUint32 - 3 // its goroutine is idle
	ops := adds(10, 1, 1)
	r.Do(t.Context(), ops)
	wantTotals(t, ops[1:], 1)
}
