package request

import "net/netip"

// Request is a request. Its slices are borrowed or lie in the Request's own buffers: they hold
// until the next Reset. An empty slice is an absent field. A door fills a Request for each lane or
// connection, again and again.
type Request struct {
	Method, Host, Path, Query []byte     // Path as SetTarget leaves it; Query without "?"
	Decoded                   []byte     // Path with every escape decoded; nil: it is Path
	Client                    netip.Addr // never IPv4-mapped, without zone; zero: not known
	Peer                      netip.Addr // of the sender; zero: a unix socket
	Country, JA3, JA4         []byte
	TLS, Scheme, Tier         []byte
	ASN                       uint32 // 0: absent
	Status                    int    // of the response; 0: there is none yet
	// the first thing for which it is, perhaps found by Param or Cookie
	Unfit      Unfit
	Unreadable int   // fields a proxy sent and nobody can read
	Found      Found // how Client was found
	// Sample says that the request was drawn: its headers are kept for [Request.SampledHeader].
	Sample bool

	names    *Names
	headers  []header
	response []header

	absolute                    bool // the target named the host
	params, cookies             []pair
	paramsParsed, cookiesParsed bool
	// Most requests need none of it: their bytes are used where the door has them.
	path, host, arena []byte // what had to be rewritten

	others     []other // headers of a drawn request
	otherNames []byte
}

// other is a header whose name lies in otherNames.
type other struct {
	name  int // end of the name
	value []byte
}

// MaxOthers is how many headers are kept of a drawn request, beside those that policies look at.
const MaxOthers = 32

const maxOtherName = 48 // bytes

// header is a header whose name is known.
type header struct {
	number int
	value  []byte
}

// pair is a parameter or a cookie, decoded.
type pair struct{ name, value []byte }

// Reset empties r for the next request and keeps its memory. Of the headers, those in names are
// kept; nil keeps none.
func (r *Request) Reset(names *Names) {
	// Field by field: an assignment of the whole would build and copy it, which takes five times as
	// long.
	r.Method, r.Host, r.Path, r.Query, r.Decoded = nil, nil, nil, nil, nil
	r.Client, r.Peer = netip.Addr{}, netip.Addr{}
	r.Country, r.JA3, r.JA4, r.TLS, r.Scheme, r.Tier = nil, nil, nil, nil, nil, nil
	r.ASN, r.Status, r.Unfit, r.Unreadable, r.Found, r.absolute = 0, 0, 0, 0, FoundPeer, false
	r.names, r.headers, r.response = names, r.headers[:0], r.response[:0]
	r.params, r.cookies, r.paramsParsed, r.cookiesParsed = r.params[:0], r.cookies[:0], false, false
	r.path, r.host, r.arena = r.path[:0], r.host[:0], r.arena[:0]
	if r.Sample {
		r.Sample, r.others, r.otherNames = false, r.others[:0], r.otherNames[:0]
	}
}

// addOther keeps a header of a drawn request. Names of more bytes, and headers beyond the most, are
// left out.
func (r *Request) addOther(name, value []byte) {
	if len(r.others) < MaxOthers && len(name) <= maxOtherName {
		r.otherNames = append(r.otherNames, name...)
		r.others = append(r.others, other{len(r.otherNames), trim(value)})
	}
}

// Sampled returns how many headers of a drawn request are kept.
func (r *Request) Sampled() int { return len(r.others) }

// SampledHeader returns header i of a drawn request, its name as it was sent.
func (r *Request) SampledHeader(i int) (name, value []byte) {
	from := 0
	if i > 0 {
		from = r.others[i-1].name
	}
	return r.otherNames[from:r.others[i].name], r.others[i].value
}

// Looks reports whether a header called name, in any case, is kept.
func (r *Request) Looks(name []byte) bool { return r.names.Index(name) >= 0 }

// AddHeader adds a header of the request, its name in any case; value loses the blanks and tabs at
// its ends. A name that occurs several times is kept several times. One more than MaxHeaders makes
// the request unfit. A header no policy looks at costs a look into a table of 256 bytes.
func (r *Request) AddHeader(name, value []byte) {
	if r.Sample {
		r.addOther(name, value)
	}
	number := r.names.Index(name)
	if number < 0 {
		return
	}
	if len(r.headers) == MaxHeaders {
		r.unfit(UnfitHeaders)
		return
	}
	r.headers = append(r.headers, header{number, trim(value)})
}

// AddResponse adds a header of the response, its name in any case.
func (r *Request) AddResponse(name, value []byte) {
	if number := r.names.Index(name); number >= 0 {
		r.response = append(r.response, header{number, trim(value)})
	}
}

// Header returns the value of header number coming at or after place at, and the place behind it.
// To look at all values begin with 0 and go on until next is -1.
func (r *Request) Header(number, at int) (value []byte, next int) {
	return valueAt(r.headers, number, at)
}

// ResponseHeader is Header for headers of the response.
func (r *Request) ResponseHeader(number, at int) (value []byte, next int) {
	return valueAt(r.response, number, at)
}

// The list has as many entries as the request has headers policies look at: a handful.
func valueAt(list []header, number, at int) (value []byte, next int) {
	for i := at; i < len(list); i++ {
		if list[i].number == number {
			return list[i].value, i + 1
		}
	}
	return nil, -1
}

// SetASN reads the number of an autonomous system, with or without AS before it. It reports false
// and changes nothing where text is no such number. AS13335 and 13335 are the same.
func (r *Request) SetASN(text []byte) bool {
	if len(text) > 2 && text[0]|0x20 == 'a' && text[1]|0x20 == 's' {
		text = text[2:]
	}
	n, ok := decimal(text, 1<<32-1)
	if ok {
		r.ASN = uint32(n) // within the bound
	}
	return ok
}

// decimal reads a number in plain digits, at most limit.
// 19 digits fit 64 bits, whatever they are.
func decimal(text []byte, limit uint64) (n uint64, ok bool) {
	if len(text) == 0 || len(text) > 19 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, n <= limit
}
