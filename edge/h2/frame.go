package h2

import "encoding/binary"

// The types of frames.
// RFC 9113, 6: in the order of the numbers.
const (
	frameData = iota
	frameHeaders
	framePriority
	frameReset
	frameSettings
	framePush
	framePing
	frameGoAway
	frameWindow
	frameContinuation
)

// Flags of frames.
const (
	flagEndStream  = 0x1
	flagAck        = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20
)

// code is an error code of HTTP/2. RFC 9113, 7. Only sent frames are here; the reason of a peer is
// not looked at.
type code uint32

const (
	noError code = iota
	protocolError
	_ // an internal error
	flowError
	_ // no acknowledgement of SETTINGS
	streamClosed
	sizeError
	refusedStream
	cancelled
	compressionFail
	_ // an error of CONNECT
	calmDown
)

// headBytes is the size of a frame's head.
const headBytes = 9

// preface is the first text of a client. RFC 9113, 3.4: made so a server of HTTP/1 fails at once.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// frame is a frame; the payload lies in the connection's buffer.
type frame struct {
	kind, flags byte
	id          uint32
	payload     []byte
}

// has reports whether f has the flag.
func (f *frame) has(flag byte) bool { return f.flags&flag != 0 }

// unpad removes the padding of a DATA or HEADERS frame. False: more padding than payload. RFC 9113,
// 6.1: the first byte is the number of bytes of padding at the end. Padding counts for flow control
// all the same, which data sees to.
func (f *frame) unpad() bool {
	if !f.has(flagPadded) {
		return true
	}
	if len(f.payload) == 0 || int(f.payload[0]) >= len(f.payload) {
		return false
	}
	f.payload = f.payload[1 : len(f.payload)-int(f.payload[0])]
	return true
}

// appendHead appends the head of a frame with a payload of size bytes.
func appendHead(b []byte, size int, kind, flags byte, id uint32) []byte {
	// the bytes of numbers
	return append(b, byte(size>>16), byte(size>>8), byte(size), kind, flags, byte(id>>24),
		byte(id>>16), byte(id>>8), byte(id))
}

// appendReset appends a RST_STREAM frame.
func appendReset(b []byte, id uint32, c code) []byte {
	return binary.BigEndian.AppendUint32(appendHead(b, 4, frameReset, 0, id), uint32(c))
}

// appendWindow appends a WINDOW_UPDATE frame.
func appendWindow(b []byte, id uint32, more int) []byte {
	// at most connWindow
	return binary.BigEndian.AppendUint32(appendHead(b, 4, frameWindow, 0, id), uint32(more))
}

// appendGoAway appends a GOAWAY frame: streams above last were not looked at. The peer may send
// such calls again elsewhere, as without effect (RFC 9113, 6.8).
func appendGoAway(b []byte, last uint32, c code) []byte {
	b = binary.BigEndian.AppendUint32(appendHead(b, 8, frameGoAway, 0, 0), last)
	return binary.BigEndian.AppendUint32(b, uint32(c))
}

// Settings of HTTP/2, by number.
const (
	setTable = iota + 1
	setPush
	setStreams
	setWindow
	setFrame
	setHeaders
)

// appendGreeting appends the server's SETTINGS, and opens the connection's window. Settings left
// out have their defaults: 4096 bytes of table, frames of 16 KiB. The window of the connection
// cannot be a setting (RFC 9113, 6.9.2), so a frame raises the window.
func appendGreeting(b []byte) []byte {
	b = appendHead(b, 18, frameSettings, 0, 0)
	for _, s := range [...]struct {
		number uint16
		value  uint32
	}{{setStreams, MaxStreams}, {setWindow, streamWindow}, {setHeaders, MaxHeaderList}} {
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, s.number), s.value)
	}
	return appendWindow(b, 0, connWindow-defaultWindow)
}

// defaultWindow is the window of a connection, and of a stream, before anything is said.
const defaultWindow = 65535
