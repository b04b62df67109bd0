package config_test

import (
	"fmt"
	"os"

	"github.com/crawlfleet/provider/examples/internal/config"
)

func ExampleParse() {
	text := `owner: crawl-berlin
providers:
  here: {kind: local}
fleets:
  - name: web
    provider: here
    replicas: 2
    spec: {allowFrom: [127.0.0.0/8]}
`
	c, err := config.Parse("proxyd.yaml", []byte(text), os.Getenv)
	if err != nil {
		fmt.Println(err)
		return
	}
	fleet := &c.Fleets[0]
	for _, name := range fleet.Members() {
		spec, err := fleet.Spec(name)
		fmt.Println(spec.Name, "on", fleet.Provider, "from", spec.AllowFrom, err)
	}
	// Output:
	// web-0 on here from [127.0.0.0/8] <nil>
	// web-1 on here from [127.0.0.0/8] <nil>
}

func ExampleParse_faults() {
	text := `owner: crawl-berlin
providers:
  here: {kind: local}
fleets:
  - name: web
    provider: there
    replica: 2
    spec:
      size: {memory: 1.5GiB}
`
	_, err := config.Parse("proxyd.yaml", []byte(text), os.Getenv)
	fmt.Println(err)
	// Output:
	// proxyd.yaml:7: fleets[0].replica: unknown key; is replicas meant?
	// proxyd.yaml:9: fleets[0].spec.size.memory: "1.5GiB" is not a size; write a whole number with a unit, such as 512MiB, 10GiB or 20GB
}
