package config

import "testing"

func TestBytes(t *testing.T) {
	for _, test := range []struct {
		text string
		want Bytes
		ok   bool
	}{
		{"0", 0, true}, {"1024", 1024, true}, {"7B", 7, true},
		{"1Ki", 1 << 10, true}, {"512MiB", 512 << 20, true}, {"512 MiB", 512 << 20, true}, {"10Gi", 10 << 30, true}, {"1TiB", 1 << 40, true},
		{"1k", 1000, true}, {"20GB", 20e9, true}, {"3M", 3e6, true}, {"1T", 1e12, true},
		{"", 0, false}, {"GiB", 0, false}, {"-1Gi", 0, false}, {"1.5Gi", 0, false}, {"1gib", 0, false}, {"1GiBs", 0, false},
		{"9223372036854775807", 1<<63 - 1, true}, {"9223372036854775808", 0, false}, {"9223372036854775807Ki", 0, false},
	} {
		var b Bytes
		if err := b.UnmarshalText([]byte(test.text)); (err == nil) != test.ok || b != test.want {
			t.Errorf("%q: got %d, %v, want %d", test.text, b, err, test.want)
		}
	}
}

func TestMilliCPU(t *testing.T) {
	for _, test := range []struct {
		text string
		want MilliCPU
		ok   bool
	}{
		{"2", 2000, true}, {"0.5", 500, true}, {"500m", 500, true}, {"0", 0, true}, {"1.001", 1001, true}, {"0.29", 290, true}, {"1.1", 1100, true},
		{"", 0, false}, {"m", 0, false}, {"-1", 0, false}, {"-1m", 0, false}, {"0.0001", 0, false}, {"1.5m", 0, false}, {"two", 0, false},
		{"NaN", 0, false}, {"Inf", 0, false}, {"1e9", 0, false},
	} {
		var c MilliCPU
		if err := c.UnmarshalText([]byte(test.text)); (err == nil) != test.ok || c != test.want {
			t.Errorf("%q: got %d, %v, want %d", test.text, c, err, test.want)
		}
	}
}

func TestNearest(t *testing.T) {
	words := []string{"interval", "timeout", "failures", "successes", "url"}
	for word, want := range map[string]string{
		"intervall": "interval", "time_out": "timeout", "Timeout": "timeout", "failure": "failures", "urls": "url", "colour": "", "": "", "x": "",
	} {
		if got := nearest(word, words); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
