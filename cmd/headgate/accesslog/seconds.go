package accesslog

import (
	"errors"
	"math"
	"strconv"
	"time"
)

// Bounds of a time in a log.
const (
	maxSeconds  = math.MaxInt64/int64(time.Second) - 1 // the year 2262
	maxDecimals = 9
	// milliFrom is the number from which JSON numbers are milliseconds: as seconds it is the year
	// 5138.
	milliFrom = 100_000_000_000
)

var (
	errNotSeconds = errors.New("time is not a number of seconds since 1970")
	errTimeRange  = errors.New("time is past the year 2262")
)

// decimal is a number of a log as written: whole.fraction.
type decimal struct {
	whole    int64
	fraction int64 // in 1e-9
	digits   int   // decimals written
}

// parseDecimal reads digits, and a point with up to nine more.
func parseDecimal(b []byte) (decimal, error) {
	var d decimal
	i := 0
	for ; i < len(b) && b[i] != '.'; i++ {
		if b[i] < '0' || b[i] > '9' {
			return d, errNotSeconds
		}
		if d.whole = d.whole*10 + int64(b[i]-'0'); d.whole > milliFrom*1000 {
			return d, errTimeRange
		}
	}
	if i == 0 {
		return d, errNotSeconds
	}
	if i == len(b) {
		return d, nil
	}
	var err error
	d.fraction, d.digits, err = parseFraction(b[i+1:])
	return d, err
}

// parseFraction reads 1 to 9 digits behind a point as nanoseconds.
func parseFraction(b []byte) (nanos int64, digits int, err error) {
	if len(b) == 0 || len(b) > maxDecimals {
		return 0, 0, errNotSeconds
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, 0, errNotSeconds
		}
		nanos = nanos*10 + int64(c-'0')
	}
	for range maxDecimals - len(b) {
		nanos *= 10
	}
	return nanos, len(b), nil
}

// setUnixSeconds reads `1455944445` or `1455944445.250` into rec.
func setUnixSeconds(b []byte, rec *Record) error {
	d, err := parseDecimal(b)
	if err != nil {
		return err
	}
	if d.whole > maxSeconds {
		return errTimeRange
	}
	rec.Time, rec.Digits = d.whole*int64(time.Second)+d.fraction, d.digits
	return nil
}

// AppendTime appends rec's time as unix seconds with as many decimals as the log wrote.
func (r *Record) AppendTime(dst []byte) []byte {
	seconds, nanos := r.Time/int64(time.Second), r.Time%int64(time.Second)
	if nanos < 0 {
		seconds, nanos = seconds-1, nanos+int64(time.Second)
	}
	dst = strconv.AppendInt(dst, seconds, 10)
	if r.Digits == 0 {
		return dst
	}
	dst = append(dst, '.')
	for i, unit := 0, int64(time.Second)/10; i < r.Digits; i, unit = i+1, unit/10 {
		dst = append(dst, byte('0'+nanos/unit%10))
	}
	return dst
}
