// Command openapigen writes the API description the page's types are generated from.
//
//	go run ./internal/httpapi/openapigen ui/openapi.json
package main

import (
	"fmt"
	"os"

	"klamm/internal/httpapi"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: openapigen FILE")
		os.Exit(2)
	}
	doc, err := httpapi.OpenAPI()
	if err == nil {
		err = os.WriteFile(os.Args[1], doc, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "openapigen:", err)
		os.Exit(1)
	}
}
