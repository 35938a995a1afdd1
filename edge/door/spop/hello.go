package spop

import "bytes"

// Version is the only version of the protocol that is spoken.
const Version = "2.0"

// hello is the greeting of HAProxy.
type hello struct {
	versions  []byte // comma separated
	frameSize uint64
	named     [3]bool // versions, frameSize and capabilities are there
	check     bool    // a health check: the answer is all it wants
}

// parseHello reads the payload of HAPROXY-HELLO and returns its fault, normal if there is none.
func parseHello(b []byte) (h hello, fault status) {
	for len(b) > 0 {
		name, v, rest, ok := takePair(b)
		if !ok {
			return h, badFrame
		}
		b = rest
		switch string(name) {
		case "supported-versions":
			h.versions, h.named[0] = v.text, v.kind == text
		case "max-frame-size":
			h.frameSize, h.named[1] = v.number, v.kind >= int32s && v.kind <= uint64s
		case "capabilities":
			h.named[2] = v.kind == text
		case "healthcheck":
			h.check = v.kind == boolean && v.number == 1
		}
	}
	return h, h.fault()
}

// fault returns the first fault of h, in the order of the protocol's numbers.
func (h *hello) fault() status {
	switch {
	case !h.named[0]:
		return noVersion
	case !h.named[1]:
		return noFrameSize
	case !h.named[2]:
		return noCapabilities
	case !speaks(h.versions):
		return otherVersion
	case h.frameSize < smallest:
		return badFrameSize
	}
	return normal
}

// speaks reports whether Version is among versions: 2.0, or 2 alone, between commas and spaces.
func speaks(versions []byte) bool {
	for v := range bytes.SplitSeq(versions, []byte{','}) {
		if v = bytes.TrimSpace(v); string(v) == Version || string(v) == "2" {
			return true
		}
	}
	return false
}

// appendHello appends AGENT-HELLO for frames of at most size bytes.
func appendHello(b []byte, size uint64) []byte {
	at := len(b)
	b = beginFrame(b, agentHello, []byte{0, 0})
	b = appendText(append(appendText(b, "version"), byte(text)), Version)
	b = appendVarint(append(appendText(b, "max-frame-size"), byte(uint32s)), size)
	b = appendText(append(appendText(b, "capabilities"), byte(text)), "pipelining")
	return endFrame(b, at)
}

// appendDisconnect appends AGENT-DISCONNECT with a fault.
func appendDisconnect(b []byte, fault status) []byte {
	at := len(b)
	b = beginFrame(b, agentDisconnect, []byte{0, 0})
	b = appendVarint(append(appendText(b, "status-code"), byte(uint32s)), uint64(fault))
	b = appendText(append(appendText(b, "message"), byte(text)), fault.text())
	return endFrame(b, at)
}

// beginFrame appends the begin of a frame; its length follows from endFrame.
func beginFrame(b []byte, kind byte, ids []byte) []byte {
	return append(append(b, 0, 0, 0, 0, kind, 0, 0, 0, flagFin), ids...)
}

// endFrame sets the length of the frame beginning at at.
func endFrame(b []byte, at int) []byte {
	n := len(b) - at - lengthBytes
	b[at], b[at+1], b[at+2], b[at+3] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
	return b
}
