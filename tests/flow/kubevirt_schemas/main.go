// kubevirt_schemas prints the schemas of KubeVirt's kinds, as its operator installs them, as a JSON object of YAML
// texts by the kinds' singular names.
//
// Standard input is validations_generated.go of the module kubevirt.io/kubevirt. It is read, not compiled: a module
// that the rest of that package needs is not on every proxy.
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
)

// text is the value of a string constant: literals, joined by +.
func text(expression ast.Expr) (string, error) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		return strconv.Unquote(e.Value)
	case *ast.BinaryExpr:
		left, err := text(e.X)
		if err != nil {
			return "", err
		}
		right, err := text(e.Y)
		return left + right, err
	}
	return "", fmt.Errorf("%T is no string", expression)
}

// schemas are the members of the file's one map literal.
func schemas(file *ast.File) (map[string]string, error) {
	found := map[string]string{}
	var failed error
	ast.Inspect(file, func(node ast.Node) bool {
		pair, is := node.(*ast.KeyValueExpr)
		if !is {
			return true
		}
		name, err := text(pair.Key)
		if err == nil {
			found[name], err = text(pair.Value)
		}
		if err != nil {
			failed = err
		}
		return false
	})
	return found, failed
}

func run() error {
	file, err := parser.ParseFile(token.NewFileSet(), "standard input", os.Stdin, 0)
	if err != nil {
		return err
	}
	found, err := schemas(file)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(found)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kubevirt_schemas:", err)
		os.Exit(1)
	}
}
