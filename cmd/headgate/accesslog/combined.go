package accesslog

import (
	"bytes"
	"errors"
	"fmt"
	"time"
)

var (
	errNoTime    = errors.New("no [time] after the client")
	errNoRequest = errors.New(`no "request" in quotes after the time`)
	errCLFTime   = errors.New("time is not like 10/Oct/2000:13:55:36 -0700")
)

// parseCombined reads `client ident user [time] "request" status bytes …`. The rest of the line
// differs between the common and the combined format and is not read.
func parseCombined(line []byte, rec *Record) error {
	client, rest, err := frontClient(line)
	if err != nil {
		return err
	}
	// The user's name may hold blanks, so the time is found by the bracket.
	_, rest, found := bytes.Cut(rest, []byte(" ["))
	stamp, rest, closed := bytes.Cut(rest, []byte("] \""))
	if !found {
		return errNoTime
	}
	if !closed {
		return errNoRequest
	}
	if err := setCLFTime(stamp, rec); err != nil {
		return err
	}
	end := closingQuote(rest)
	if end < 0 {
		return errNoRequest
	}
	rec.Client = client
	setRequest(rest[:end], rec)
	status, _, _ := bytes.Cut(bytes.TrimLeft(rest[end+1:], " "), []byte(" "))
	rec.Status = parseStatus(status)
	setLastField(rest[end+1:], rec)
	setForwarded(rest[end+1:], rec)
	return nil
}

// setLastField reads the seconds the request took, if the last field of a line, as $request_time
// behind the combined format: 0.123, or rt=0.123. Seconds have a point, a size has none.
func setLastField(rest []byte, rec *Record) {
	field := rest[bytes.LastIndexByte(rest, ' ')+1:]
	if name := bytes.IndexByte(field, '='); name >= 0 {
		field = field[name+1:]
	}
	if bytes.IndexByte(field, '.') > 0 {
		setTook(field, time.Second, rec)
	}
}

// setForwarded takes the third text in quotes behind the request for X-Forwarded-For, as in nginx's
// own "main" format, if an address stands in it.
func setForwarded(rest []byte, rec *Record) {
	if bytes.Count(rest, []byte(`"`)) < 6 {
		return
	}
	all, err := fields(rest)
	if err != nil || len(all) < 5 {
		return
	}
	last := bytes.TrimSpace(all[4][bytes.LastIndexByte(all[4], ',')+1:])
	if _, ok := address(last); ok {
		rec.Forwarded = all[4]
	}
}

// closingQuote returns where the quoted text b ends: at the first quote no backslash stands before,
// or -1. Two backslashes are an escaped backslash.
func closingQuote(b []byte) int {
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// Where the parts of `10/Oct/2000:13:55:36` lie, and the length.
const (
	clfLength = len("10/Oct/2000:13:55:36")
	clfZone   = len(" -0700")
)

const clfMonths = "JanFebMarAprMayJunJulAugSepOctNovDec"

// setCLFTime reads `10/Oct/2000:13:55:36 -0700`, with or without decimals of the second, into rec.
func setCLFTime(b []byte, rec *Record) error {
	if len(b) < clfLength+clfZone {
		return errCLFTime
	}
	clock, middle, zone := b[:clfLength], b[clfLength:len(b)-clfZone], b[len(b)-clfZone:]
	seconds, ok := clfSeconds(clock)
	offset, zoneOK := clfOffset(zone)
	if !ok || !zoneOK {
		return errCLFTime
	}
	var nanos int64
	rec.Digits = 0
	if len(middle) > 0 {
		var err error
		if nanos, rec.Digits, err = parseFraction(middle[1:]); err != nil || middle[0] != '.' {
			return errCLFTime
		}
	}
	rec.Time = (seconds-offset)*int64(time.Second) + nanos
	return nil
}

// clfSeconds reads the clock as if in UTC. Years 1970 to 2261, so nanoseconds fit.
func clfSeconds(b []byte) (int64, bool) {
	day, year := number(b[0:2]), number(b[7:11])
	hour, minute, second := number(b[12:14]), number(b[15:17]), number(b[18:20])
	month := bytes.Index([]byte(clfMonths), b[3:6])
	if min(day, year, hour, minute, second, month) < 0 || month%3 != 0 {
		return 0, false
	}
	if day < 1 || year < 1970 || year > 2261 || hour > 23 || minute > 59 || second > 60 {
		return 0, false
	}
	if b[2] != '/' || b[6] != '/' || b[11] != ':' || b[14] != ':' || b[17] != ':' {
		return 0, false
	}
	if time.Date(year, time.Month(month/3+1), day, 0, 0, 0, 0, time.UTC).Day() != day {
		return 0, false // of the next month
	}
	date := time.Date(year, time.Month(month/3+1), day, hour, minute, second, 0, time.UTC)
	return date.Unix(), true
}

// clfOffset reads ` -0700` as seconds east of UTC.
func clfOffset(b []byte) (int64, bool) {
	hours, minutes := number(b[2:4]), number(b[4:6])
	if b[0] != ' ' || hours < 0 || hours > 14 || minutes < 0 || minutes > 59 {
		return 0, false
	}
	offset := int64(hours*3600 + minutes*60)
	switch b[1] {
	case '+':
		return offset, true
	case '-':
		return -offset, true
	default:
		return 0, false
	}
}

// number reads digits only; anything else is -1.
func number(b []byte) int {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// describe shortens a piece of a bad line for a message.
func describe(b []byte) string {
	const most = 40
	if len(b) > most {
		return fmt.Sprintf("%q…", b[:most])
	}
	return fmt.Sprintf("%q", b)
}
