package request

import "bytes"

// MaxParams is how many parameters of a query, and cookies, are looked at. If there are more, and a
// policy looks at any, the request is unfit: else who hides a parameter behind so many others would
// be matched as if it had none.
const MaxParams = 256

// Param returns the value of the query's parameter name coming at or after place at, decoded, and
// the place behind it; next is -1 where there is none. Few requests are asked for a parameter, so
// the query is parsed only then.
func (r *Request) Param(name string, at int) (value []byte, next int) {
	if !r.paramsParsed {
		r.parseParams()
	}
	return pairAt(r.params, name, at)
}

// Cookie returns the value of the cookie name coming at or after place at, and the place behind it;
// next is -1 where there is none. The name "cookie" must be among the Names. Of two with the same
// name some servers take the first and some the last.
func (r *Request) Cookie(name string, at int) (value []byte, next int) {
	if !r.cookiesParsed {
		r.parseCookies()
	}
	return pairAt(r.cookies, name, at)
}

func pairAt(list []pair, name string, at int) (value []byte, next int) {
	for i := at; i < len(list); i++ {
		if string(list[i].name) == name {
			return list[i].value, i + 1
		}
	}
	return nil, -1
}

// parseParams reads the query as application/x-www-form-urlencoded. A "#" ends a parameter too:
// some servers see nothing behind it, others do.
func (r *Request) parseParams() {
	r.paramsParsed = true
	rest := r.Query
	for len(rest) > 0 {
		var part []byte
		part, rest = cutParam(rest)
		if len(part) == 0 {
			continue
		}
		if len(r.params) == MaxParams {
			r.unfit(UnfitHeaders)
			return
		}
		name, value, _ := bytes.Cut(part, []byte{'='})
		r.params = append(r.params, pair{r.decode(name), r.decode(value)})
	}
}

// cutParam returns the first parameter of a query, and what follows.
func cutParam(query []byte) (part, rest []byte) {
	part, rest, _ = bytes.Cut(query, []byte{'&'})
	if end := bytes.IndexByte(part, '#'); end >= 0 {
		return part[:end], query[end+1:]
	}
	return part, rest
}

// decode returns text with its escapes and "+" decoded; a broken escape stands for itself. As most
// servers do; a stricter parser would answer 400 to such a request anyway.
func (r *Request) decode(text []byte) []byte {
	if bytes.IndexByte(text, '%') < 0 && bytes.IndexByte(text, '+') < 0 {
		return text
	}
	begin := len(r.arena)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '+':
			c = ' '
		case c == '%' && i+2 < len(text):
			if high, low := fromHex(text[i+1]), fromHex(text[i+2]); high >= 0 && low >= 0 {
				c = byte(high<<4 | low)
				i += 2
			}
		}
		r.arena = append(r.arena, c)
	}
	return r.arena[begin:len(r.arena):len(r.arena)]
}

// parseCookies reads all Cookie headers.
// HTTP/2 may send cookies in several headers (RFC 9113, 8.2.3).
func (r *Request) parseCookies() {
	r.cookiesParsed = true
	number := r.names.Index([]byte("cookie"))
	if number < 0 {
		return
	}
	for value, next := r.Header(number, 0); next >= 0; value, next = r.Header(number, next) {
		r.parseCookie(value)
	}
}

func (r *Request) parseCookie(rest []byte) {
	for len(rest) > 0 {
		var part []byte
		part, rest, _ = bytes.Cut(rest, []byte{';'})
		name, value, ok := bytes.Cut(part, []byte{'='})
		name = trim(name)
		if !ok || len(name) == 0 {
			continue
		}
		if len(r.cookies) == MaxParams {
			r.unfit(UnfitHeaders)
			return
		}
		r.cookies = append(r.cookies, pair{name, unquote(trim(value))})
	}
}

// unquote takes the quotes off a value that is in quotes.
// RFC 6265, 4.1.1, allows quotes around a value, and servers take them off.
func unquote(value []byte) []byte {
	if last := len(value) - 1; last > 0 && value[0] == '"' && value[last] == '"' {
		return value[1:last]
	}
	return value
}

// trim takes spaces and tabs off both ends.
func trim(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	for len(text) > 0 && (text[len(text)-1] == ' ' || text[len(text)-1] == '\t') {
		text = text[:len(text)-1]
	}
	return text
}
