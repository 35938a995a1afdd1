package accesslog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

var (
	errJSONTime = errors.New("no time: none of time_iso8601, msec, time_local, time, " +
		"@timestamp, ts")
	errJSONWrite = errors.New("time is neither a number of seconds, nor RFC 3339, nor like " +
		"10/Oct/2000:13:55:36 -0700")
)

// jsonLine holds the field names of common log formats for the fields of a Record. Of several names
// for a field the first that is present counts.
type jsonLine struct {
	TimeISO   text `json:"time_iso8601"`
	Msec      text `json:"msec"`
	TimeLocal text `json:"time_local"`
	Time      text `json:"time"`
	Timestamp text `json:"@timestamp"`
	TS        text `json:"ts"`

	RemoteAddr text `json:"remote_addr"`
	Client     text `json:"client"`
	ClientIP   text `json:"client_ip"`
	RemoteIP   text `json:"remote_ip"`

	RequestMethod text `json:"request_method"`
	Method        text `json:"method"`

	RequestURI text `json:"request_uri"`
	URI        text `json:"uri"`
	Path       text `json:"path"`

	// Request is the request line (nginx's $request) or an object holding client, method and path
	// (Caddy).
	Request json.RawMessage `json:"request"`
	Status  text            `json:"status"`

	RequestTime text `json:"request_time"` // seconds
	Duration    text `json:"duration"`     // seconds with a point, else milliseconds

	XForwardedFor  text `json:"http_x_forwarded_for"`
	XForwardedFor2 text `json:"x_forwarded_for"`

	// Traefik's names
	ClientHost       text `json:"ClientHost"`
	TraefikMethod    text `json:"RequestMethod"`
	TraefikPath      text `json:"RequestPath"`
	DownstreamStatus text `json:"DownstreamStatus"`
	StartUTC         text `json:"StartUTC"`
	Traefik          text `json:"Duration"` // nanoseconds
}

// text is a JSON string or number, as bytes; null and anything else is empty.
type text []byte

// UnmarshalJSON takes a string's value or a number's digits.
func (t *text) UnmarshalJSON(b []byte) error {
	*t = nil
	switch {
	case b[0] == '"':
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*t = text(s)
	case b[0] == '-' || startsWithDigit(b):
		*t = append(text(nil), b...)
	}
	return nil
}

// parseJSON reads an object.
func parseJSON(line []byte, rec *Record) error {
	var l jsonLine
	if err := json.Unmarshal(line, &l); err != nil {
		return fmt.Errorf("not a JSON object: %w", err)
	}
	if err := setJSONTime(first(l.StartUTC, l.TimeISO, l.Msec, l.TimeLocal, l.Time, l.Timestamp,
		l.TS), rec); err != nil {
		return err
	}
	rec.Method, rec.Path = nil, nil
	if err := l.setRequest(rec); err != nil {
		return err
	}
	rec.Client = first(l.RemoteAddr, l.Client, l.ClientIP, l.RemoteIP, l.ClientHost)
	if len(rec.Client) == 0 {
		return errNoClient
	}
	if method := first(l.RequestMethod, l.Method, l.TraefikMethod); len(method) > 0 {
		rec.Method = method
	}
	if path := first(l.RequestURI, l.URI, l.Path, l.TraefikPath); len(path) > 0 {
		rec.Path = withoutQuery(path)
	}
	rec.Status = parseStatus(first(l.Status, l.DownstreamStatus))
	rec.Forwarded = first(l.XForwardedFor, l.XForwardedFor2)
	l.setTook(rec)
	return nil
}

// setTook reads the time of the request.
func (l *jsonLine) setTook(rec *Record) {
	switch {
	case len(l.RequestTime) > 0:
		setTook(l.RequestTime, time.Second, rec)
	case bytes.ContainsAny(l.Duration, ".e"):
		setTook(l.Duration, time.Second, rec)
	case len(l.Duration) > 0:
		setTook(l.Duration, time.Millisecond, rec)
	case len(l.Traefik) > 0:
		setTook(l.Traefik, time.Nanosecond, rec)
	}
}

// setRequest reads the request field, in either shape. A field of the line goes before a field of
// an object inside.
func (l *jsonLine) setRequest(rec *Record) error {
	switch {
	case bytes.HasPrefix(l.Request, []byte("{")):
		var inner jsonLine
		if err := json.Unmarshal(l.Request, &inner); err != nil {
			return fmt.Errorf("request: %w", err)
		}
		l.Client = first(l.Client, inner.ClientIP, inner.RemoteIP, inner.RemoteAddr)
		l.Method = first(l.Method, inner.Method)
		l.URI = first(l.URI, inner.URI, inner.Path)
	case bytes.HasPrefix(l.Request, []byte(`"`)):
		var request text
		if err := request.UnmarshalJSON(l.Request); err != nil {
			return fmt.Errorf("request: %w", err)
		}
		setRequest(request, rec)
	}
	return nil
}

// first returns the first not empty.
func first(texts ...text) text {
	for _, t := range texts {
		if len(t) > 0 {
			return t
		}
	}
	return nil
}

// setJSONTime reads any of the ways in which JSON logs write a time.
func setJSONTime(t text, rec *Record) error {
	if len(t) == 0 {
		return errJSONTime
	}
	if setJSONNumber(t, rec) == nil || setCLFTime(t, rec) == nil || setRFC3339(t, rec) == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", errJSONWrite, describe(t))
}

// setJSONNumber reads seconds, or milliseconds where the number is too large for seconds.
func setJSONNumber(t text, rec *Record) error {
	d, err := parseDecimal(t)
	if err != nil || d.whole < milliFrom {
		return setUnixSeconds(t, rec)
	}
	if d.whole/1000 > maxSeconds {
		return errTimeRange
	}
	rec.Time, rec.Digits = d.whole*int64(time.Millisecond), 3
	return nil
}

func setRFC3339(t text, rec *Record) error {
	when, err := time.Parse(time.RFC3339Nano, string(t))
	if err != nil {
		return err
	}
	if when.Year() < 1970 || when.Year() > 2261 {
		return errTimeRange
	}
	rec.Time, rec.Digits = when.UnixNano(), fractionDigits(t)
	return nil
}

// fractionDigits counts the decimals written behind the seconds of an RFC 3339 time.
func fractionDigits(t text) int {
	_, rest, found := bytes.Cut(t, []byte("."))
	if !found {
		return 0
	}
	digits := 0
	for digits < min(len(rest), maxDecimals) && rest[digits] >= '0' && rest[digits] <= '9' {
		digits++
	}
	return digits
}
