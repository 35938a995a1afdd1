package systemtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// Page gets one of the daemon's pages of JSON.
func Page[T any](n *Node, path string) (view T) {
	n.Helper()
	body := n.Get(path)
	if err := json.Unmarshal([]byte(body), &view); err != nil {
		n.Fatalf("%s: %v: %s", path, err, body)
	}
	return view
}

// Explain returns the explanation of a key under a rule.
func (n *Node) Explain(rule, key string) api.ExplainView {
	n.Helper()
	return Page[api.ExplainView](n,
		"/v1/explain?rule="+url.QueryEscape(rule)+"&key="+url.QueryEscape(key))
}

// Get gets one of the daemon's pages.
func (n *Node) Get(path string) string {
	n.Helper()
	return n.Send(http.MethodGet, path, "")
}

// Send sends the daemon's interface for operators a request, and returns the answer.
func (n *Node) Send(method, path, body string) string {
	n.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), edgetest.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+n.Admin+path,
		strings.NewReader(body))
	if err != nil {
		n.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	door := &http.Transport{DialContext: n.at.dial}
	defer door.CloseIdleConnections()
	resp, err := (&http.Client{Transport: door}).Do(req)
	if err != nil {
		n.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	var text strings.Builder
	if _, err := bufio.NewReader(resp.Body).WriteTo(&text); err != nil ||
		resp.StatusCode/100 != 2 {
		n.Fatalf("%s: %s, %v: %s", path, resp.Status, err, text.String())
	}
	return text.String()
}

// Metrics returns the values of the daemon's series whose names, with labels, begin with prefix.
func (n *Node) Metrics(prefix string) map[string]float64 {
	n.Helper()
	found := map[string]float64{}
	for line := range strings.Lines(n.Get("/metrics")) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || !strings.HasPrefix(name, prefix) {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			n.Fatalf("%q: %v", line, err)
		}
		found[name] = v
	}
	return found
}

// Line sends one line to the daemon and returns the first line of its answer.
func (n *Node) Line(text string) string {
	n.Helper()
	conn, err := net.Dial("udp", n.UDP)
	if err != nil {
		n.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // of a test
	for range 5 {      // a datagram may be lost
		_, _ = fmt.Fprintln(conn, text)
		_ = conn.SetReadDeadline(time.Now().Add(edgetest.Patience / 5))
		var room [512]byte
		if size, err := conn.Read(room[:]); err == nil {
			return string(room[:size])
		}
	}
	n.Fatalf("no answer to %q", text)
	return ""
}

// Left returns the remaining of an answer that allows.
func (n *Node) Left(text string) (left int) {
	n.Helper()
	reply := n.Line(text)
	if _, err := fmt.Sscanf(reply, "allow remaining=%d", &left); err != nil {
		n.Fatalf("%q: %q", text, reply)
	}
	return left
}

// FillFlags has so many keys blocked.
func (n *Node) FillFlags(keys int) {
	n.Helper()
	c, err := net.Dial("udp", n.UDP)
	if err != nil {
		n.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	answer := make([]byte, 64<<10)
	for key := range keys {
		if _, err := fmt.Fprintf(c, "check login key-%d\ncheck login key-%d\n", key,
			key); err != nil {
			n.Fatal(err)
		}
		if _, err := c.Read(answer); err != nil {
			n.Fatal(err)
		}
	}
}

// Read asks the admin listener for path and reads the answer to its end.
func (n *Node) Read(path string) {
	n.Helper()
	r, err := http.Get("http://" + n.Admin + path)
	if err != nil {
		n.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	if _, err := io.Copy(io.Discard, r.Body); err != nil || r.StatusCode != http.StatusOK {
		n.Fatalf("%s: %s, %v", path, r.Status, err)
	}
}

// MostResident returns how much memory the daemon had at most, in MiB.
func (n *Node) MostResident() int {
	n.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.Cmd.Process.Pid))
	if err != nil {
		n.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		n.Fatal(err)
	}
	return kib >> 10
}

// Exchanges returns how many operations a second went well, over so many seconds.
func (n *Node) Exchanges(seconds int) float64 {
	count := func() (sum float64) {
		for name, value := range n.Metrics("headgate_ring_operations_total") {
			if strings.Contains(name, `"ok"`) {
				sum += value
			}
		}
		return sum
	}
	before := count()
	Hold(n, time.Duration(seconds)*time.Second)
	return (count() - before) / float64(seconds)
}

// Alive returns the number of members that a node takes for alive; -1 if the node reports none.
func (n *Node) Alive() (count int) {
	n.Helper()
	view := Page[api.ClusterView](n, "/v1/cluster")
	if view.Gossip == nil || view.Gossip.Members == nil {
		return -1
	}
	for _, m := range view.Gossip.Members {
		if m.State == "alive" {
			count++
		}
	}
	return count
}
