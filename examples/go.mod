module github.com/crawlfleet/provider/examples

go 1.26.0

require github.com/crawlfleet/provider v0.0.0

require (
	github.com/fsnotify/fsnotify v1.10.1 // indirect
	github.com/go-crypt/crypt v0.14.15 // indirect
	github.com/go-crypt/x v0.4.16 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/prometheus/client_golang v1.25.0 // indirect
	github.com/spf13/cobra v1.10.2 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
	golang.org/x/crypto v0.59.0 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sync v0.25.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/term v0.48.0 // indirect
	golang.org/x/time v0.16.0 // indirect
)

replace github.com/crawlfleet/provider => ..
