import { type AddressInfo, type Server, type Socket, connect, createServer } from "node:net";
import { Carrel } from "@carrel/sdk";

/** A proxy that breaks connections on purpose: before a word of `cutAt` would reach the client, once for each word. */
export class CuttingProxy implements AsyncDisposable {
  cutAt: string[] = [];
  cuts = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<CuttingProxy> {
    const target = new URL(process.env.CARREL_URL!);
    const server = createServer();
    const proxy = new CuttingProxy(server);
    server.on("connection", (client) => {
      const upstream = connect(Number(target.port), target.hostname);
      for (const [one, other] of [[client, upstream], [upstream, client]] as const) {
        proxy.sockets.add(one);
        one.on("close", () => other.destroy());
        one.on("error", () => other.destroy());
      }
      client.on("data", (chunk) => upstream.write(chunk));
      upstream.on("data", (chunk) => {
        if (proxy.isCut(chunk)) {
          client.destroy();
          upstream.destroy();
        } else {
          client.write(chunk);
        }
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  private isCut(chunk: Buffer): boolean {
    const word = this.cutAt.find((each) => chunk.includes(each));
    if (word === undefined) {
      return false;
    }
    this.cutAt = this.cutAt.filter((each) => each !== word);
    this.cuts++;
    return true;
  }

  client(): Carrel {
    return new Carrel({ url: `http://127.0.0.1:${(this.server.address() as AddressInfo).port}` });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.sockets.forEach((socket) => socket.destroy());
    await new Promise((resolve) => this.server.close(resolve));
  }
}
