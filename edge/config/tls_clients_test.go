package config

import (
	"strings"
	"testing"
)

// TestTLSClients: TLS without certificates of clients is named, and a listener that would admit no
// other machine is a fault.
func TestTLSClients(t *testing.T) {
	t.Parallel()
	const pair = "cert_file: /c, key_file: /k"
	for _, tt := range []struct{ text, fault, warning string }{
		{
			"listen: {grpc: ':4294'}\ntls: {" + pair + "}",
			"listen.grpc: :4294 admits no other machine over TLS", "",
		},
		{
			"listen: {resp: ':4296'}\ntls: {" + pair + "}",
			"listen.resp: :4296 admits no other machine over TLS", "",
		},
		{
			"listen: {grpc: ':4294'}\ntls: {" + pair + "}\nclients: {trusted: [127.0.0.0/8]}",
			"admits no other machine", "",
		},
		{
			"listen: {grpc: '127.0.0.1:4294'}\ntls: {" + pair + "}", "",
			"over TLS those are admitted who may connect plain",
		},
		{
			"listen: {resp: ':4296'}\nresp: {password_file: /p}\ntls: {" + pair + "}", "",
			"who shows the password",
		},
		{
			"listen: {grpc: ':4294'}\ntls: {" + pair + "}\nclients: {trusted: [10.0.0.0/8]}", "",
			"who may connect plain",
		},
		{
			"listen: {grpc: ':4294'}\ntls: {clients: known, " + pair + "}", "",
			"who may connect plain",
		},
		{"listen: {grpc: ':4294'}\ntls: {clients: any, " + pair + "}", "", "everybody may connect"},
		{"listen: {grpc: ':4294'}\ntls: {client_ca_file: /a, " + pair + "}", "", ""},
		{"listen: {grpc: ':4294'}\ntls: {clients: some, " + pair + "}", "tls.clients", ""},
	} {
		c, err := Parse("headgate.yaml", []byte(tt.text))
		if tt.fault == "" && err != nil ||
			tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
			t.Errorf("%s\n%v", tt.text, err)
		}
		got := ""
		for _, w := range c.Warnings {
			got += w.String()
		}
		if err == nil && (tt.warning == "" && got != "" || !strings.Contains(got, tt.warning)) {
			t.Errorf("%s\n%q", tt.text, got)
		}
	}
}
