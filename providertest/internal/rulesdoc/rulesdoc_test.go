package rulesdoc

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDocumentIsFresh(t *testing.T) {
	text, err := os.ReadFile("../../../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := Refresh(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), fresh); diff != "" {
		t.Errorf("docs/providers.md is stale; run go generate ./providertest (-document +generated):\n%s", diff)
	}
}

// skeleton is a document with every part, which is empty.
func skeleton() string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString("before\n<!-- begin generated: " + part.name + " -->\nold\n<!-- end generated: " + part.name + " -->\nafter\n")
	}
	return b.String()
}

func TestRefresh(t *testing.T) {
	fresh, err := Refresh(skeleton())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(fresh, "\nold\n") || strings.Count(fresh, "before\n") != len(parts) || strings.Count(fresh, "after\n") != len(parts) {
		t.Errorf("the parts were not replaced, or more than they:\n%s", fresh)
	}
	for _, want := range []string{"Create/1", "`Create/Idempotent`", "(needs Squatter)", "| NotFound |", "| Incomplete |", "Not checked yet"} {
		if !strings.Contains(fresh, want) {
			t.Errorf("the document does not have %q", want)
		}
	}
	if again, err := Refresh(fresh); err != nil || again != fresh {
		t.Errorf("a second refresh changed the document: %v", err)
	}
}

func TestRefreshMissesAPart(t *testing.T) {
	for _, part := range parts {
		for _, word := range []string{"begin", "end"} {
			marker := "<!-- " + word + " generated: " + part.name + " -->\n"
			_, err := Refresh(strings.Replace(skeleton(), marker, "", 1))
			if err == nil || !strings.Contains(err.Error(), part.name) {
				t.Errorf("without %q the error is %v", strings.TrimSpace(marker), err)
			}
		}
	}
}
