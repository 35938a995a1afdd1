package accesslog

import (
	"bytes"
	"errors"
	"fmt"
	"time"
)

var (
	errFields = errors.New("too few fields")
	errCut    = errors.New("a quote is not closed")
)

// fields splits a line at blanks. A field may stand in quotes, or in brackets at the front.
func fields(line []byte) (all [][]byte, err error) {
	for line = bytes.TrimLeft(line, " "); len(line) > 0; line = bytes.TrimLeft(line, " ") {
		end, skip := bytes.IndexByte(line, ' '), 0
		switch {
		case line[0] == '"':
			line, skip = line[1:], 1
			if end = closingQuote(line); end < 0 {
				return nil, errCut
			}
		case line[0] == '[' && len(all) == 0:
			line, skip = line[1:], 1
			end = bytes.IndexByte(line, ']')
		}
		if end < 0 {
			end, skip = len(line), 0
		}
		all = append(all, line[:end])
		line = line[end+skip:]
	}
	return all, nil
}

// parseHAProxy reads HAProxy's HTTP log, its `option httplog`. The time has no zone, and is taken
// for UTC.
//
//	client:port [time] frontend backend/server TR/Tw/Tc/Tr/Ta status bytes … "request"
func parseHAProxy(line []byte, rec *Record) error {
	client, rest, err := frontClient(line)
	if err != nil {
		return err
	}
	stamp, rest, closed := bytes.Cut(bytes.TrimPrefix(rest, []byte("[")), []byte("] "))
	if !closed {
		return errNoTime
	}
	if err := setCLFTime(append(bytes.Clone(stamp), " +0000"...), rec); err != nil {
		return err
	}
	all, err := fields(rest)
	if err != nil || len(all) < 5 {
		return errFields
	}
	open := bytes.IndexByte(rest, '"')
	if open < 0 {
		return errNoRequest
	}
	rec.Client, rec.Status = client, parseStatus(all[3])
	setRequest(all[len(all)-1], rec)
	timers := all[2]
	total := bytes.TrimPrefix(timers[bytes.LastIndexByte(timers, '/')+1:], []byte("+"))
	setTook(total, time.Millisecond, rec)
	return nil
}

// parseEnvoy reads Envoy's default format. It has no peer, but the list x-forwarded-for.
//
//	[time] "METHOD path protocol" status flags in out duration upstream "x-forwarded-for" …
func parseEnvoy(line []byte, rec *Record) error {
	all, err := fields(line)
	if err != nil || len(all) < 9 {
		return errFields
	}
	if err := setRFC3339(all[0], rec); err != nil {
		return fmt.Errorf("time: %w", err)
	}
	setRequest(all[1], rec)
	rec.Client, rec.Status, rec.Forwarded, rec.NoPeer = nil, parseStatus(all[2]), all[8], true
	setTook(all[6], time.Millisecond, rec)
	return nil
}

// parseALB reads the log of an AWS application load balancer.
//
//	type time elb client:port target:port request target response status … "METHOD URL protocol"
func parseALB(line []byte, rec *Record) error {
	all, err := fields(line)
	if err != nil || len(all) < 13 {
		return errFields
	}
	if err := setRFC3339(all[1], rec); err != nil {
		return fmt.Errorf("time: %w", err)
	}
	client, ok := address(all[3])
	if !ok {
		return fmt.Errorf("the client %s is no address", describe(all[3]))
	}
	rec.Client, rec.Status = client, parseStatus(all[8])
	setRequest(all[12], rec)
	if _, path, found := bytes.Cut(rec.Path, []byte("://")); found {
		rec.Path = path[max(0, bytes.IndexByte(path, '/')):]
	}
	setTook(all[6], time.Second, rec)
	return nil
}

// parseCloudFront reads the standard log of CloudFront, whose first lines are comments.
func parseCloudFront(line []byte, rec *Record) error {
	all := bytes.Split(line, []byte("\t"))
	if len(all) < 19 {
		return errFields
	}
	stamp := append(append(append(bytes.Clone(all[0]), 'T'), all[1]...), 'Z')
	if err := setRFC3339(stamp, rec); err != nil {
		return fmt.Errorf("time: %w", err)
	}
	client, ok := address(all[4])
	if !ok {
		return fmt.Errorf("the client %s is no address", describe(all[4]))
	}
	rec.Client, rec.Method, rec.Path = client, all[5], all[7]
	rec.Status = parseStatus(all[8])
	setTook(all[18], time.Second, rec)
	return nil
}
