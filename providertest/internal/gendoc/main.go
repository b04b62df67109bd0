// Command gendoc rewrites the generated parts of docs/providers.md from the
// tables of package providertest. A part stands between two comments,
//
//	<!-- begin generated: rules -->
//	<!-- end generated: rules -->
//
// and everything outside is left alone.
package main

import (
	"fmt"
	"os"

	"github.com/crawlfleet/provider/providertest/internal/rulesdoc"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gendoc:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: gendoc FILE; there are %d arguments", len(args))
	}
	old, err := os.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("the document cannot be read: %w", err)
	}
	text, err := rulesdoc.Refresh(string(old))
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	if err := os.WriteFile(args[0], []byte(text), 0o644); err != nil {
		return fmt.Errorf("the document cannot be written: %w", err)
	}
	return nil
}
