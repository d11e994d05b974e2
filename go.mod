module klamm

go 1.26
