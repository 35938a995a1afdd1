package udp

import (
	"bytes"
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// maxSegments is the most replies of a message: UDP_MAX_SEGMENTS of the kernels before 6.8, 128
	// since.
	maxSegments = 64
	// maxRun bounds the bytes of a message, below UDP's 65,507.
	maxRun = 60_000
	// publicSegment is the longest reply, in bytes, to leave in a run off loopback: a segment must
	// fit the MTU of the path, IPv6 guarantees 1,280, and the headers take 48.
	publicSegment = 1280 - 48
)

// outbox collects and sends the replies of a batch. Consecutive replies of equal length to the same
// client, the last possibly shorter, leave as a message with UDP_SEGMENT (udp(7), generic
// segmentation offload): the kernel walks the way out once for all, and cuts replies apart at the
// end. The client receives the same datagrams either way.
//
// The kernel refuses such a message for devices without checksums, and for segments above the MTU.
// The outbox then sends such replies singly and builds no more runs, for this socket, until the
// end. Not to be copied: headers point inside.
type outbox struct {
	messages [batch]mmsghdr
	vectors  [batch]unix.Iovec // one per reply
	controls [batch]control    // used by messages of two replies and more
	replies  [batch]int        // replies per message
	made     int               // messages collected
	queued   int               // replies in them
	sent     int               // replies the kernel took
	inRuns   int               // of them, those that left in a run
	// size of the run the last message may go on with; 0: complete
	segment int
	length  int // bytes of the last message
	longest int // longest reply that may be in a run; 0: no runs
	refused int // runs the kernel did not take and that were sent singly
}

// control is the ancillary data of a run: a header and the size of a segment. The layout of
// CMSG_DATA(3) for eight-byte alignment, as on every 64-bit Linux.
type control struct {
	header unix.Cmsghdr
	size   uint16
	_      [6]byte
}

// newOutbox returns an outbox for replies of up to longest bytes in a run; 0 makes no runs.
func newOutbox(longest int) *outbox {
	o := &outbox{longest: longest}
	for m := range o.controls {
		c := &o.controls[m]
		c.header.Level, c.header.Type = unix.SOL_UDP, unix.UDP_SEGMENT
		c.header.SetLen(int(unsafe.Offsetof(c.size) + unsafe.Sizeof(c.size)))
	}
	return o
}

// reset empties the outbox for the next batch.
func (o *outbox) reset() {
	o.made, o.queued, o.sent, o.inRuns, o.segment, o.refused = 0, 0, 0, 0, 0, 0
}

// add appends reply to the client whose address is in from. Reply and address stay valid until the
// outbox is sent.
func (o *outbox) add(from *unix.Msghdr, reply []byte) {
	v := &o.vectors[o.queued]
	v.Base = &reply[0]
	v.SetLen(len(reply))
	o.queued++
	if o.extends(from, len(reply)) {
		o.extend(len(reply))
		return
	}
	m := &o.messages[o.made].header
	m.Name, m.Namelen = from.Name, from.Namelen
	m.Iov = v
	m.SetIovlen(1)
	m.Control = nil
	m.SetControllen(0)
	o.replies[o.made] = 1
	o.made++
	o.segment, o.length = 0, len(reply)
	if len(reply) <= o.longest {
		o.segment = len(reply)
	}
}

// extends reports whether a reply of n bytes to from can join the last message.
func (o *outbox) extends(from *unix.Msghdr, n int) bool {
	if n > o.segment || o.length+n > maxRun { // segment is 0 before the first message
		return false
	}
	m := o.made - 1
	return o.replies[m] < maxSegments && bytes.Equal(name(&o.messages[m].header), name(from))
}

// extend counts the reply just queued as a part of the last message.
func (o *outbox) extend(n int) {
	m := o.made - 1
	header := &o.messages[m].header
	if o.replies[m] == 1 {
		c := &o.controls[m]
		c.size = uint16(o.segment)                  // at most replyBytes
		header.Control = (*byte)(unsafe.Pointer(c)) //nolint:gosec // a control message is bytes
		header.SetControllen(int(unsafe.Sizeof(*c)))
	}
	o.replies[m]++
	header.SetIovlen(o.replies[m])
	o.length += n
	if n < o.segment {
		o.segment = 0 // only the last segment may be shorter
	}
}

// name returns the bytes of the address of header.
func name(header *unix.Msghdr) []byte {
	return unsafe.Slice(header.Name, header.Namelen) //nolint:gosec // the length is the kernel's
}

// send writes the messages with sendmmsg, hidden from Go's scheduler as door.WriteNow is. A message
// the kernel does not take at once is dropped: a late answer is worth less than the next question.
func (o *outbox) send(fd uintptr) {
	for at := 0; at < o.made; {
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, fd,
			uintptr(unsafe.Pointer(&o.messages[at])), //nolint:gosec // x/sys has no sendmmsg
			uintptr(o.made-at), unix.MSG_DONTWAIT, 0, 0)
		if errno != 0 {
			if o.replies[at] > 1 && cannotSegment(errno) {
				o.sendApart(fd, at)
			}
			at++ // this one cannot be sent; the others may
			continue
		}
		for range n {
			o.count(at, o.replies[at])
			at++
		}
	}
}

// count adds sent replies of message m to the totals.
func (o *outbox) count(m, sent int) {
	o.sent += sent
	if o.replies[m] > 1 {
		o.inRuns += sent
	}
}

// cannotSegment reports whether errno says that the kernel, the device or the path refuses runs:
// EIO without checksum offload, EINVAL and EMSGSIZE above the MTU or before Linux 4.18.
func cannotSegment(errno error) bool {
	for _, e := range [...]error{
		unix.EIO, unix.EINVAL, unix.EMSGSIZE, unix.EOPNOTSUPP, unix.ENOPROTOOPT,
	} {
		if errors.Is(errno, e) {
			return true
		}
	}
	return false
}

// sendApart sends the replies of message m singly, and makes no more runs.
func (o *outbox) sendApart(fd uintptr, m int) {
	o.longest, o.segment = 0, 0
	o.refused++
	header := &o.messages[m].header
	replies := unsafe.Slice(header.Iov, o.replies[m]) //nolint:gosec // as many as were added
	header.Control = nil
	header.SetControllen(0)
	header.SetIovlen(1)
	for k := range replies {
		header.Iov = &replies[k]
		_, _, errno := unix.Syscall(unix.SYS_SENDMSG, fd,
			//nolint:gosec // the header is already built
			uintptr(unsafe.Pointer(header)), unix.MSG_DONTWAIT)
		if errno == 0 {
			o.sent++
		}
	}
}
