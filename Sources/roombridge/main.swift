internal import BridgeCore
internal import Glibc

Service.prepareProcess()
exit(Program.run(Array(CommandLine.arguments.dropFirst())))
