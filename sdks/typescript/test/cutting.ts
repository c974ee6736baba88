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
      let before = "";
      upstream.on("data", (chunk) => {
        const text = chunk.toString("latin1");
        const cut = proxy.isCut(before, text);
        before = (before + text).slice(-64);
        if (cut) {
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

  /** Also where a word began in the piece before. */
  private isCut(before: string, chunk: string): boolean {
    const word = this.cutAt.find((each) => (before.slice(1 - each.length) + chunk).includes(each));
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
