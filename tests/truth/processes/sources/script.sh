x=0; for i in 1 2 3 4 5; do x=$((x+i)); done; echo $x
f() { echo "f $1"; }; f a; case abc in a*) echo yes;; esac
trap 'echo bye' EXIT
