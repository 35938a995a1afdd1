package main

import "bytes"

// Verdicts counts reply lines, or HTTP answers, by verdict. Echoed are lines that came back as
// they were sent, from a bare echo.
type Verdicts struct {
	Allow  int `json:"allow"`
	Deny   int `json:"deny"`
	OK     int `json:"ok"`
	Echoed int `json:"echoed"`
	Error  int `json:"error"` // error lines, statuses from 500, and bytes that are no reply
}

func (v *Verdicts) total() int { return v.Allow + v.Deny + v.OK + v.Echoed + v.Error }

// addReply counts the lines of one datagram.
func (v *Verdicts) addReply(reply []byte) {
	for len(reply) > 0 {
		end := bytes.IndexByte(reply, '\n')
		if end < 0 {
			end = len(reply)
		}
		v.addLine(reply[:end])
		reply = reply[min(end+1, len(reply)):]
	}
}

// addLine looks at the first letter of the first word behind the id; the words of the protocol
// differ in it, but for count and check, which only an echo answers.
// One letter and not the whole word: the load must stay faster than the server.
func (v *Verdicts) addLine(line []byte) {
	if bytes.HasPrefix(line, []byte("id=")) {
		_, line, _ = bytes.Cut(line, []byte(" "))
	}
	if len(line) == 0 {
		v.Error++
		return
	}
	switch line[0] {
	case 'a':
		v.Allow++
	case 'd':
		v.Deny++
	case 'o':
		v.OK++
	case 'c', 'p':
		v.Echoed++
	default:
		v.Error++
	}
}

// addStatus counts one HTTP answer; a 204 is an answer without a verdict.
func (v *Verdicts) addStatus(status int) {
	switch {
	case status == 204:
		v.OK++
	case status >= 200 && status < 300:
		v.Allow++
	// The statuses by which proxies are told to deny; any other is a fault of one side.
	case status == 401 || status == 403 || status == 429:
		v.Deny++
	default:
		v.Error++
	}
}
