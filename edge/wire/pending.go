package wire

// call is one Ask on its way. Once its first question is sent, Client.mu guards
// it until Client.forget.
type call struct {
	queries []Query
	answers []Answer      // Assumed: not settled yet
	sent    []idSpan      // all that may be open of it
	left    int           // questions that are open
	err     error         // why the open ones will not be answered
	news    chan struct{} // capacity 1: left reached 0, or err was set
}

// idSpan is n ids, from first on.
type idSpan struct {
	first uint64
	n     int
}

func newCall(queries []Query) *call {
	k := &call{queries: queries, answers: make([]Answer, len(queries)), news: make(chan struct{}, 1)}
	for i := range k.answers {
		k.answers[i].Assumed = true
	}
	return k
}

func (k *call) notify() {
	select {
	case k.news <- struct{}{}:
	default: // it has not seen the last one yet, which will do
	}
}

// question is an open one: whose it is, and which of its queries.
type question struct {
	call  *call
	index int
}

// register opens the questions of the packet. It comes before the packet is
// sent, for the reply may be faster than the sender.
func (c *Client) register(k *call) error {
	p := &c.packet
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open)+p.lines > MaxPending {
		return ErrBusy
	}
	for i := range p.lines {
		c.open[p.id(i)] = question{k, p.index[i]}
	}
	k.sent = append(k.sent, idSpan{p.first, p.lines})
	k.left += p.lines
	return nil
}

// settle hands each line of a reply to the question that waits for it.
func (c *Client) settle(datagram []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(datagram) > 0 {
		var line []byte
		line, datagram, _ = cut(datagram, '\n')
		c.settleLine(line)
	}
}

func (c *Client) settleLine(line []byte) {
	answer, err := ParseAnswer(line)
	id, ok := parseID(answer.ID)
	q, waits := c.open[id]
	if !ok || !waits {
		c.strays++
		return
	}
	if err != nil {
		answer = Answer{Status: Error} // without a code: Client.conclude makes ErrReply of it
	}
	delete(c.open, id)
	q.call.answers[q.index] = answer // its ID lies in the reader's buffer; Client.conclude replaces it
	if q.call.left--; q.call.left == 0 {
		q.call.notify()
	}
}

// abandon gives up all open questions. The caller holds c.mu.
func (c *Client) abandon(err error) {
	for _, q := range c.open {
		q.call.err = err
		q.call.notify()
	}
	clear(c.open)
}

// forget closes what is still open of k.
func (c *Client) forget(k *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.left == 0 {
		return
	}
	for _, s := range k.sent {
		for i := range s.n {
			delete(c.open, nextID(s.first, i))
		}
	}
}
