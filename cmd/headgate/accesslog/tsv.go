package accesslog

import (
	"bytes"
	"errors"
	"time"
)

// tsvFields is how many fields a TSV line has. A sixth is the seconds the request took, if a
// number; more are ignored.
const tsvFields = 5

var (
	errTSVFields = errors.New("fewer than 5 tab-separated fields")
	errNoClient  = errors.New("no client")
)

// parseTSV reads `unix_seconds  client  method  path  status`, and the seconds of the request.
func parseTSV(line []byte, rec *Record) error {
	var fields [tsvFields][]byte
	rest, more := line, true
	for i := range fields {
		if !more {
			return errTSVFields
		}
		fields[i], rest, more = bytes.Cut(rest, []byte("\t"))
	}
	if err := setUnixSeconds(fields[0], rec); err != nil {
		return err
	}
	if len(fields[1]) == 0 {
		return errNoClient
	}
	rec.Client, rec.Method = fields[1], fields[2]
	rec.Path, rec.Status = withoutQuery(fields[3]), parseStatus(fields[4])
	took, _, _ := bytes.Cut(rest, []byte("\t"))
	setTook(took, time.Second, rec)
	return nil
}
