package edge

import (
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// spopHello is a health check of an agent by HAProxy.
const spopHello = "\x00\x00\x00\x57\x01\x00\x00\x00\x01\x00\x00\x12supported-versions\x08\x032.0\x0emax-frame-size\x03\xfc\xf0\x06" +
	"\x0ccapabilities\x08\x0apipelining\x0bhealthcheck\x11"

// greets reports whether an agent at addr says HELLO.
func greets(addr net.Addr) bool {
	c, err := net.DialTimeout(addr.Network(), addr.String(), time.Second)
	if err != nil {
		return false
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	hello := []byte(spopHello)
	hello[3] = byte(len(hello) - 4)
	_, _ = c.Write(hello)
	b := make([]byte, 5)
	_, err = io.ReadFull(c, b)
	return err == nil && b[4] == 101
}

// A door that is named in the configuration is open, counted and shown; when its listener is lost
// it is opened again, at the same address.
func TestStreamDoor(t *testing.T) {
	socket := t.TempDir() + "/spop.sock"
	c, err := config.Parse("headgate.yaml", []byte(
		"memory: 4MiB\nlisten: {http: 127.0.0.1:0, admin: 127.0.0.1:0, spop: 'unix:"+socket+
			"', udp: []}\n"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := New(t.Context(), Options{Config: &c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if greets(&net.UnixAddr{Name: socket, Net: "unix"}) {
			t.Error("the door is open after the end")
		}
	})
	doortest.Serve(t, n.Run)
	at := n.Addresses().Streams["spop"][0]
	if at.String() != socket || !greets(at) {
		t.Fatalf("nobody answers at %s", at)
	}
	_ = n.streams[0].close()
	edgetest.Await(t, "the door is open again", 10*time.Second, func() bool { return greets(at) })
	w := httptest.NewRecorder()
	n.admin.ServeHTTP(w, httptest.NewRequest("GET",
		"http://"+n.Addresses().Admin[0].String()+"/metrics", nil))
	for _, want := range []string{
		"headgate_spop_connections ", "headgate_spop_requests_total 0\n",
		`headgate_spop_errors_total{code="protocol"} 0`,
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	if views := n.doorViews(); len(views) != 3 || views[2].Protocol != "spop" ||
		views[2].Addresses[0] != "unix:"+socket {
		t.Errorf("%+v", views)
	}
}
