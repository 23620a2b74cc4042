module example.test/liveness

go 1.21
