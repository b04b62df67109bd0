package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a size in bytes, written with a unit in the file.
type Bytes int64

// units are those of IEC 80000-13, in full and as Kubernetes shortens them,
// and the decimal ones that disks are sold in.
var units = map[string]int64{
	"": 1, "B": 1,
	"Ki": 1 << 10, "KiB": 1 << 10, "k": 1e3, "kB": 1e3,
	"Mi": 1 << 20, "MiB": 1 << 20, "M": 1e6, "MB": 1e6,
	"Gi": 1 << 30, "GiB": 1 << 30, "G": 1e9, "GB": 1e9,
	"Ti": 1 << 40, "TiB": 1 << 40, "T": 1e12, "TB": 1e12,
}

// UnmarshalText reads a whole number with a unit: "512MiB", "10Gi", "20GB".
// Without a unit it is in bytes.
func (b *Bytes) UnmarshalText(text []byte) error {
	s := string(text)
	digits := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		digits = len(s)
	}
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	unit, known := units[strings.TrimSpace(s[digits:])]
	if err != nil || !known || n > math.MaxInt64/unit {
		return fmt.Errorf("%q is not a size; write a whole number with a unit, such as 512MiB, 10GiB or 20GB", s)
	}
	*b = Bytes(n * unit)
	return nil
}

// MilliCPU is a number of processors in thousandths.
type MilliCPU int64

// UnmarshalText reads processors ("2", "0.5") or thousandths ("500m").
func (c *MilliCPU) UnmarshalText(text []byte) error {
	s := string(text)
	if milli, ok := strings.CutSuffix(s, "m"); ok {
		if n, err := strconv.ParseInt(milli, 10, 64); err == nil && n >= 0 {
			*c = MilliCPU(n)
			return nil
		}
	} else if f, err := strconv.ParseFloat(s, 64); err == nil && f >= 0 && f <= 1e6 {
		// Most decimal fractions are a little off in binary.
		if milli := math.Round(f * 1000); math.Abs(milli-f*1000) < 1e-6 {
			*c = MilliCPU(milli)
			return nil
		}
	}
	return fmt.Errorf("%q is not a number of processors; write 2, 0.5 or 500m", s)
}
