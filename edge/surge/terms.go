package surge

import (
	"bytes"
	"encoding/binary"
	"hash"
	"net/netip"
	"slices"
	"strconv"

	"github.com/headgate-dev/headgate/edge/request"
)

// Term is a keyed hash of a field, an Operator and a value.
type Term uint32

// Operator is how a term compares.
type Operator uint8

// The operators.
const (
	Is Operator = iota
	Begins
	Present
	Absent
)

// class is the use of a term as proof. A crowd comes to a page, from a country, for the first time:
// so terms of places and regions may be conditions, and are never signs.
type class uint8

const (
	where class = iota
	who
	region
)

const (
	maxTerms = 38  // of a row
	maxText  = 256 // kept bytes of a value
)

// row is a drawn request.
type row struct {
	at      int64   // in nanoseconds
	ticket  uint64  // of the answer; 0: none
	weight  float32 // requests the row stands for
	status  uint16  // of the response; 0: not known
	n       uint8
	report  bool // of a report, perhaps of a drawn request
	client  row16
	network Term
	terms   [maxTerms]Term
}

// has reports whether all conditions hold for the row.
func (r *row) has(all []Condition) bool { return hasAll(r.terms[:r.n], all) }

func hasAll(row []Term, all []Condition) bool {
	for i := range all {
		if !slices.Contains(row, all[i].term) {
			return false
		}
	}
	return true
}

// expected are the headers of browsers, whose absence is a term. Few names: each takes a place in
// every row.
var expected = [...]string{
	"user-agent", "accept", "accept-language", "accept-encoding", "referer", "sec-fetch-mode",
	"sec-ch-ua", "x-requested-with", "cookie", "content-type",
}

// The fields of terms beside headers.
var (
	method, host, path   = []byte("method"), []byte("host"), []byte("path")
	country, asn, ja4    = []byte("country"), []byte("asn"), []byte("ja4")
	client, ofHeader     = []byte("client"), []byte("header.")
	userAgent, proxyName = []byte("user-agent"), [][]byte{
		[]byte("x-forwarded-"), []byte("x-original-"), []byte("x-envoy-"), []byte("headgate-"),
	}
	// in the names of headers whose values are never kept
	secretWords = [][]byte{
		[]byte("token"), []byte("secret"), []byte("key"), []byte("auth"), []byte("session"),
		[]byte("password"), []byte("cookie"),
	}
)

// filler makes rows of requests.
type filler struct {
	hash   hash.Hash
	key    []byte // of the hash
	texts  *texts
	hidden func(name []byte) bool // headers whose values are never kept, beside secretWords; or nil

	row   *row
	field []byte // memory of names
	sum   [32]byte
	head  [2]byte
	text  [48]byte // memory of numbers and networks
}

// fill makes to of r, headers included.
func (f *filler) fill(to *row, r *request.Request) {
	f.row = to
	to.n, to.client, to.network = 0, r.Client.As16(), 0
	f.add(method, Is, r.Method)
	f.add(host, Is, r.Host)
	f.path(r)
	f.add(country, Is, r.Country)
	if r.ASN > 0 {
		f.add(asn, Is, strconv.AppendUint(f.text[:0], uint64(r.ASN), 10))
	}
	f.add(ja4, Is, r.JA4)
	f.networks(r.Client)
	f.headers(r)
}

// headers adds the headers: first those browsers send, there or not; then the odd ones, and
// last those of nearly every browser, as far as the row has room.
func (f *filler) headers(r *request.Request) {
	seen := 0
	for turn := range 3 {
		for i := range r.Sampled() {
			name, value := r.SampledHeader(i)
			f.name(name)
			at, rank := rankOf(f.field[len(ofHeader):])
			if rank == turn {
				f.header(value)
				seen |= 1 << at
			}
		}
		for at, name := range expected {
			if turn == 0 && seen>>at&1 == 0 {
				f.field = append(append(f.field[:0], ofHeader...), name...)
				f.add(f.field, Absent, nil)
			}
		}
	}
}

// rankOf returns in which turn a header is added, and the place in expected; the proxy's own never.
func rankOf(name []byte) (at, turn int) {
	for at := range expected {
		if string(name) == expected[at] {
			return at, 0
		}
	}
	switch string(name) {
	case "host", "connection", "content-length", "forwarded", "via", "x-real-ip", "x-request-id",
		"traceparent", "tracestate":
		return len(expected), -1
	case "sec-fetch-site", "sec-fetch-dest", "sec-fetch-user", "sec-ch-ua-mobile",
		"sec-ch-ua-platform", "upgrade-insecure-requests", "cache-control", "pragma", "priority",
		"if-modified-since", "if-none-match", "range":
		return len(expected), 2
	}
	for _, begin := range proxyName {
		if bytes.HasPrefix(name, begin) {
			return len(expected), -1
		}
	}
	return len(expected), 1
}

// name sets f.field to the field of the header called name.
func (f *filler) name(name []byte) {
	f.field = append(f.field[:0], ofHeader...)
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		f.field = append(f.field, c)
	}
}

// path adds the path and the first three directories above.
func (f *filler) path(r *request.Request) {
	p := r.Path
	if r.Decoded != nil {
		p = r.Decoded
	}
	for depth, at := 0, 0; depth < 3 && at < len(p); depth++ {
		next := bytes.IndexByte(p[at+1:], '/')
		if next < 0 {
			break
		}
		at += 1 + next
		f.add(path, Begins, p[:at+1])
	}
	f.add(path, Is, p)
}

// networks adds the networks around address: the finest is the row's.
func (f *filler) networks(address netip.Addr) {
	bits := [...]int{64, 48, 32}
	if address.Is4() {
		bits = [...]int{24, 16, 0}
	}
	for i, n := range bits {
		if net, err := address.Prefix(n); err == nil && net.IsValid() && n > 0 {
			f.add(client, Is, net.AppendTo(f.text[:0]))
			if i == 0 {
				f.row.network = f.row.terms[f.row.n-1]
			}
		}
	}
}

// header adds the header f.field.
func (f *filler) header(value []byte) {
	name := f.field[len(ofHeader):]
	f.add(f.field, Present, nil)
	if isSecret(name) || f.hidden != nil && f.hidden(name) || isAddress(value) {
		return
	}
	// The query of an address is never kept, in any header.
	if at := bytes.IndexByte(value, '?'); at >= 0 {
		f.add(f.field, Begins, value[:at+1])
		return
	}
	f.add(f.field, Is, value)
	if bytes.Equal(name, userAgent) {
		end := bytes.IndexByte(value, ')')
		if end < 0 {
			end = bytes.IndexByte(value, '/')
		}
		if end > 0 && end+1 < len(value) {
			f.add(f.field, Begins, value[:end+1])
		}
	}
}

func isSecret(name []byte) bool {
	for _, w := range secretWords {
		if bytes.Contains(name, w) {
			return true
		}
	}
	return false
}

// isAddress reports whether value is an address, or a list of addresses: personal data, and
// no common property.
func isAddress(value []byte) bool {
	first, _, _ := bytes.Cut(value, []byte{','})
	_, ok := request.ParseAddress(bytes.TrimSpace(first))
	return ok
}

// add adds a term to the row. An empty value is none. Where the row is full the term is left out.
func (f *filler) add(field []byte, op Operator, value []byte) {
	if int(f.row.n) == maxTerms || len(value) == 0 && op < Present {
		return
	}
	t := f.term(field, op, value)
	f.row.terms[f.row.n] = t
	f.row.n++
	f.texts.keep(t, field, op, value)
}

// term returns the keyed hash.
func (f *filler) term(field []byte, op Operator, value []byte) Term {
	f.head = [2]byte{byte(len(field)), byte(op)} // names have at most 128 bytes
	f.hash.Reset()
	for _, part := range [...][]byte{f.key, f.head[:], field, value} {
		_, _ = f.hash.Write(part) // never fails
	}
	return Term(binary.LittleEndian.Uint32(f.hash.Sum(f.sum[:0])))
}
