package guest

import (
	"net/netip"
	"testing"

	"github.com/crawlfleet/provider"
)

const ownPort = 3128

func rulesFor(d provider.Destinations) *rules {
	return newRules(d, ownPort, func() []netip.Addr {
		return []netip.Addr{netip.MustParseAddr("198.41.0.4"), netip.MustParseAddr("2a00::4")}
	})
}

func TestDefaultDestinations(t *testing.T) {
	r := rulesFor(provider.Destinations{})
	for _, test := range []struct {
		addr string
		open bool
	}{
		{"93.184.216.34", true},
		{"1.1.1.1", true},
		{"100.63.255.255", true},
		{"100.128.0.0", true},
		{"172.15.255.255", true},
		{"172.32.0.0", true},
		{"223.255.255.255", true},
		{"2606:4700::1111", true},
		{"2a00::5", true},
		{"64:ff9b::5db8:d822", true}, // of 93.184.216.34
		{"2002:5db8:d822::1", true},  // of the same
		{"::ffff:93.184.216.34", true},

		{"0.0.0.0", false},
		{"0.1.2.3", false},
		{"10.0.0.1", false},
		{"100.64.0.1", false},
		{"100.100.100.200", false}, // Alibaba's metadata service
		{"127.0.0.1", false},
		{"127.255.255.254", false},
		{"168.63.129.16", false},
		{"169.254.169.254", false}, // that of most clouds
		{"172.16.0.1", false},
		{"172.31.255.255", false},
		{"192.0.0.192", false}, // Oracle's
		{"192.0.2.1", false},
		{"192.88.99.1", false},
		{"192.168.1.1", false},
		{"198.18.0.1", false},
		{"198.51.100.1", false},
		{"203.0.113.1", false},
		{"224.0.0.1", false},
		{"240.0.0.1", false},
		{"255.255.255.255", false},
		{"198.41.0.4", false}, // this machine
		{"2a00::4", false},
		{"64:ff9b::c629:4", false}, // this machine through a gateway
		{"::", false},
		{"::1", false},
		{"::127.0.0.1", false},
		{"::ffff:127.0.0.1", false},
		{"::ffff:10.0.0.1", false},
		{"::ffff:169.254.169.254", false},
		{"::ffff:0:127.0.0.1", false}, // SIIT
		{"64:ff9b::7f00:1", false},
		{"64:ff9b::a9fe:a9fe", false},
		{"64:ff9b:1::5db8:d822", false}, // a network's own gateway
		{"2002:7f00:1::", false},
		{"2002:a00:1::1", false},
		{"2001::1", false}, // Teredo
		{"2001:db8::1", false},
		{"2620:4f:8000::1", false},
		{"3fff::1", false},
		{"100::1", false},
		{"fc00::1", false},
		{"fd00:ec2::254", false}, // Amazon's metadata service
		{"fe80::1", false},
		{"fe80::1%eth0", false},
		{"2606:4700::1111%eth0", false},
		{"fec0::1", false},
		{"ff02::1", false},
	} {
		got := r.check(netip.MustParseAddr(test.addr), 443, true)
		if (got == nil) != test.open {
			t.Errorf("%s: %v; want open: %v", test.addr, got, test.open)
		}
		if got != nil && (got.status != 403 || got.token != "destination_ip_prohibited") {
			t.Errorf("%s: refused with %d %s", test.addr, got.status, got.token)
		}
	}
}

func TestPorts(t *testing.T) {
	r := rulesFor(provider.Destinations{Allow: []provider.Destination{
		{Prefix: netip.MustParsePrefix("10.0.0.0/24")},
		{Prefix: netip.MustParsePrefix("10.0.1.0/24"), Ports: []uint16{8080, 8443}},
		{Prefix: netip.MustParsePrefix("93.184.216.34/32"), Ports: []uint16{8443}},
	}})
	for _, test := range []struct {
		addr    string
		port    uint16
		connect bool
		open    bool
	}{
		{"93.184.215.14", 80, true, true},
		{"93.184.215.14", 443, true, true},
		{"93.184.215.14", 22, true, false},
		{"93.184.215.14", 8443, true, false},
		{"93.184.215.14", 8080, false, true},
		{"10.0.0.1", 8080, false, true},
		{"10.0.0.1", 80, true, true},
		{"10.0.0.1", 8080, true, false}, // no ports: CONNECT keeps its default
		{"10.0.1.1", 8080, false, true},
		{"10.0.1.1", 8080, true, true},
		{"10.0.1.1", 80, false, false},
		{"10.0.1.1", 443, true, false},
		{"93.184.216.34", 8443, true, true},
		{"93.184.216.34", 443, true, true}, // Allow opens and never closes
		{"93.184.216.34", 80, false, true},
		{"::ffff:10.0.1.1", 8080, true, true},
		{"64:ff9b::a00:101", 8080, true, false}, // only the address as it is
	} {
		got := r.check(netip.MustParseAddr(test.addr), test.port, test.connect)
		if (got == nil) != test.open {
			t.Errorf("%s port %d, CONNECT %v: %v; want open: %v", test.addr, test.port, test.connect, got, test.open)
		}
	}
}

func TestDenyWins(t *testing.T) {
	r := rulesFor(provider.Destinations{
		Allow: []provider.Destination{{Prefix: netip.MustParsePrefix("10.0.0.0/8")}, {Prefix: netip.MustParsePrefix("2a00::/32")}},
		Deny:  []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("93.184.216.0/24"), netip.MustParsePrefix("2a00::/48")},
	})
	for addr, open := range map[string]bool{
		"10.0.0.1": true, "10.1.0.1": false, "::ffff:10.1.0.1": false,
		"93.184.215.14": true, "93.184.216.34": false, "64:ff9b::5db8:d822": false, "2002:5db8:d822::1": false,
		"2a00:0:1::1": true, "2a00::1": false,
	} {
		if got := r.check(netip.MustParseAddr(addr), 80, false); (got == nil) != open {
			t.Errorf("%s: %v; want open: %v", addr, got, open)
		}
	}
}

// The guest's own port stays shut, whatever is opened.
func TestLoopIsRefused(t *testing.T) {
	all := []provider.Destination{
		{Prefix: netip.MustParsePrefix("0.0.0.0/0"), Ports: []uint16{ownPort, 8080}},
		{Prefix: netip.MustParsePrefix("::/0"), Ports: []uint16{ownPort, 8080}},
	}
	r := rulesFor(provider.Destinations{Allow: all})
	for _, addr := range []string{"127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::", "198.41.0.4", "2a00::4", "::ffff:127.0.0.1", "64:ff9b::7f00:1"} {
		for _, connect := range []bool{false, true} {
			got := r.check(netip.MustParseAddr(addr), ownPort, connect)
			if got == nil || got.token != "proxy_loop_detected" {
				t.Errorf("%s on the guest's port, CONNECT %v: %v", addr, connect, got)
			}
			if got := r.check(netip.MustParseAddr(addr), 8080, connect); got != nil {
				t.Errorf("%s on another port, CONNECT %v: %v", addr, connect, got)
			}
		}
	}
	if got := r.check(netip.MustParseAddr("10.0.0.1"), ownPort, true); got != nil {
		t.Errorf("another machine on the same port: %v", got)
	}
}
