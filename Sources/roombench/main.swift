Benchmark.main()
